/** Does the work for every item, so many at a time; one that fails keeps no other from its turn. */
export async function sideBySide<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
  onFailure: (error: unknown, item: T) => void = () => {},
): Promise<void> {
  const waiting = [...items].values()
  const worker = async () => {
    for (const item of waiting) await work(item).catch((error: unknown) => onFailure(error, item))
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
