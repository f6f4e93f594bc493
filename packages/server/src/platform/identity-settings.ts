export interface IdentityProviderConfig {
  id: string
  name: string
  issuer: string
  clientId: string
  clientSecret: string
}

export function readProviders(value: string): IdentityProviderConfig[] {
  const providers = JSON.parse(value) as Partial<IdentityProviderConfig>[]
  return providers.map((provider) => {
    const { id, name, issuer, clientId, clientSecret } = provider
    if (!id || !name || !issuer || !clientId || !clientSecret) {
      throw new Error('each provider needs id, name, issuer, clientId and clientSecret')
    }
    return { id, name, issuer, clientId, clientSecret }
  })
}
