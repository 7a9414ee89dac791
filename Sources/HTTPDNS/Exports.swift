// What a user of the resolver, or the author of a provider, writes: addresses, clocks, trust roots. One import suffices.
@_exported public import CurlTransport
@_exported public import HTTPDNSPrimitives
