/** The functions of the language are objects, and its transform operator can write to objects. */
export const builtIns = `abs append assert average base64decode base64encode boolean ceil clone contains count
  decodeUrl decodeUrlComponent distinct each encodeUrl encodeUrlComponent error eval exists filter floor formatBase
  formatInteger formatNumber fromMillis join keys length lookup lowercase map match max merge min not number pad
  parseInteger power random reduce replace reverse round shuffle sift single sort split spread sqrt string substring
  substringAfter substringBefore sum toMillis trim type uppercase zip`.split(/\s+/)
