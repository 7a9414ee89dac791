// What a user of the resolver, or the author of a provider, writes: addresses and clocks. One import suffices.
@_exported public import HTTPDNSPrimitives
