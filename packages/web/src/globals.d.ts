/** False only in builds that tests make to see what the guards prevent. */
declare const GUARDED: boolean
