import { withDatabase } from './database.ts'

/** While the work goes on, the database refuses new rows of the table with these values. */
export function withFailingInsert<T>(
  table: string,
  row: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  return withDatabase(async (database) => {
    const matches = Object.entries(row).map(
      ([column, value]) => `new.${database.escapeIdentifier(column)} = ${database.escapeLiteral(value)}`,
    )
    const on = database.escapeIdentifier(table)
    await database.query(
      `create function planted_fault() returns trigger language plpgsql as
         $$ begin raise exception 'planted fault'; end $$`,
    )
    try {
      await database.query(
        `create trigger planted_fault before insert on ${on} for each row
           when (${matches.join(' and ')}) execute function planted_fault()`,
      )
      return await work()
    } finally {
      await database.query('drop function planted_fault() cascade')
    }
  })
}
