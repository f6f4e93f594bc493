import { describe, expect, test } from 'vitest'
import { isPublicAddress, parseFetchAllow, readDestination } from './address-rules.ts'

const notPublic = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:53aa:64c:0:0:80ff:fffe',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%lo',
  'fec0::1',
  'ff02::1',
  '2606:4700::1%eth0',
  '',
  'localhost',
  '127.1',
  '0x7f000001',
]

describe('addresses', () => {
  test.each(notPublic)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.255.255',
    '172.32.0.1',
    '192.169.0.1',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))
})

describe('destinations', () => {
  test('what is read is the normalised address', () => {
    const read = readDestination('HTTPS://Git.Example/a/../b.git', [])
    expect(read).toMatchObject({ host: 'git.example', port: 443, exempt: false })
    expect(read?.url.href).toBe('https://git.example/b.git')
  })

  test('an exemption is for one host and one port, and for nothing else about the address', () => {
    const allow = parseFetchAllow('git.internal:8443, [::1]:80')
    expect(readDestination('http://git.internal:8443/x', allow)).toMatchObject({ exempt: true, port: 8443 })
    expect(readDestination('https://GIT.internal:8443/x', allow)).toMatchObject({ exempt: true })
    expect(readDestination('http://[0:0::1]/x', allow)).toMatchObject({ exempt: true, host: '::1' })
    for (const refused of [
      'https://git.internal:8444/x',
      'http://git.internal/x',
      'https://sub.git.internal:8443/x',
      'https://git.internal.:8443/x',
      'https://name:word@git.internal:8443/x',
      'ftp://git.internal:8443/x',
      'https://[::1]/x',
    ]) {
      expect(readDestination(refused, allow), refused).toBeUndefined()
    }
  })

  test('the list of exemptions is exact or refused', () => {
    expect(parseFetchAllow('')).toEqual([])
    expect(parseFetchAllow('Git.Internal:443,[0:0:0::1]:8080')).toEqual(['git.internal:443', '[::1]:8080'])
    for (const wrong of [
      'git.internal',
      '*.internal:443',
      'https://a:443',
      'a:0',
      'a:99999',
      'a:443/x',
      'a b:1',
    ]) {
      expect(() => parseFetchAllow(wrong), wrong).toThrow('host:port')
    }
  })
})
