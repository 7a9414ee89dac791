internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// What a client's settings say about each call.
struct CallSettings: Hashable, Sendable {
    let limits: TransferLimits
    /// For a call with its body.
    let total: Duration?
    /// For a call until the head of its response.
    let responseHead: Duration?
    let versions: HTTPDNSClient.AllowedVersions
    let headers: HostHeaderRules?
    let redirects: HTTPDNSClient.RedirectPolicy
    let retries: HTTPDNSClient.RetryPolicy
    let reachableNetworks: HTTPDNSClient.ReachableNetworks
    /// What an HTTPS proxy is believed by: the client's own settings, never those of a request's host.
    let proxyTrust: ProxyTrust

    init(_ configuration: HTTPDNSClient.Configuration) {
        var limits = TransferLimits()
        limits.connect = configuration.timeouts.connect
        limits.tls = configuration.timeouts.tls
        limits.firstByte = configuration.timeouts.firstByte
        limits.idle = configuration.timeouts.idle
        limits.maximumResponseBytes = configuration.maximumResponseBody.bytes
        self.limits = limits
        total = configuration.timeouts.total
        responseHead = configuration.timeouts.responseHead
        versions = configuration.versions
        headers = HostHeaderRules(configuration.headers)
        redirects = configuration.redirects
        retries = configuration.retries
        reachableNetworks = configuration.reachableNetworks
        proxyTrust = ProxyTrust(configuration.trust)
    }
}

/// The same behind a reference: each call and each hop takes it, and copying the values would count references to all of
/// them.
final class SharedCallSettings: Sendable {
    let values: CallSettings

    init(_ values: CallSettings) { self.values = values }
}
