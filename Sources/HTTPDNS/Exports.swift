@_exported public import HTTPDNSCore
// What a user of the client writes in requests and settings, so that one import suffices.
@_exported public import HTTPDNSPrimitives
@_exported public import HTTPTypes
