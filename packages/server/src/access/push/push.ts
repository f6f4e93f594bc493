export { PushSender, type SenderParts } from './sender.ts'
