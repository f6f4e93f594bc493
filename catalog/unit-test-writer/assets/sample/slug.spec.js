import assert from 'node:assert/strict'
import test from 'node:test'
import { slug } from './slug.js'

test('joins words with hyphens', () => {
  assert.equal(slug('Two Words'), 'two-words')
})
