// Users of the resolver and authors of providers need addresses and clocks. One import suffices.
@_exported public import HTTPDNSPrimitives
