const errors = [
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  AggregateError,
]
const errorNames = ['constructor', 'message', 'name', 'toString']

/** What every value of the language inherits from or is made by. */
const intrinsics = () => [
  ...[Object, Function, Array, String, Number, Boolean, BigInt, Symbol, Date, Promise, Proxy],
  ...[Map, Set, WeakMap, WeakSet, WeakRef, ArrayBuffer, SharedArrayBuffer, DataView],
  ...errors,
  Object.getPrototypeOf(Int8Array),
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ...[RegExp, /x/.constructor, Math, JSON, Reflect, Atomics],
  (async () => {}).constructor,
  function* () {}.constructor,
  async function* () {}.constructor,
  Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
  Object.getPrototypeOf([][Symbol.iterator]()),
  Object.getPrototypeOf(''[Symbol.iterator]()),
  Object.getPrototypeOf(new Map()[Symbol.iterator]()),
  Object.getPrototypeOf(new Set()[Symbol.iterator]()),
]

/**
 * A frozen prototype also forbids an object below it to have a property of the same name by assignment. Data may
 * have fields called `constructor` or `toString`, and the library gives its sequences a `push` of their own.
 *
 * @returns {[object, PropertyKey[]][]}
 */
const overridable = () => [
  [Object.prototype, Reflect.ownKeys(Object.prototype)],
  [Function.prototype, ['constructor', 'toString']],
  [Array.prototype, ['constructor', 'push', 'toString']],
  ...errors.map(({ prototype }) => /** @type {[object, PropertyKey[]]} */ ([prototype, errorNames])),
]

/** Nothing that runs after this can change what the language itself does. */
export function freezeIntrinsics() {
  for (const [prototype, names] of overridable()) for (const name of names) letOverride(prototype, name)
  for (const intrinsic of intrinsics()) {
    Object.freeze(intrinsic)
    if (intrinsic.prototype) {
      Object.freeze(intrinsic.prototype)
      const above = Object.getPrototypeOf(intrinsic.prototype)
      if (above) Object.freeze(above)
    }
  }
}

/**
 * Freezes a value and everything that can be reached from it.
 *
 * @param {unknown} value
 */
export function freezeDeep(value) {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (!isObject || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const property of Object.values(Object.getOwnPropertyDescriptors(value))) freezeDeep(property.value)
}

/**
 * @param {object} prototype
 * @param {PropertyKey} name
 */
function letOverride(prototype, name) {
  const property = Object.getOwnPropertyDescriptor(prototype, name)
  if (!property || !('value' in property)) return
  const { value } = property
  Object.defineProperty(prototype, name, {
    configurable: false,
    enumerable: property.enumerable === true,
    get: () => value,
    set(own) {
      if (this === prototype) throw new TypeError(`${String(name)} cannot be changed`)
      Object.defineProperty(this, name, { value: own, configurable: true, enumerable: true, writable: true })
    },
  })
}
