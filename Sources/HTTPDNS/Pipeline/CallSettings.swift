internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The settings of a client that apply to each call.
struct CallSettings: Hashable, Sendable {
    let limits: TransferLimits
    /// The limit for a call with its body.
    let total: Duration?
    /// The limit for a call until its response head.
    let responseHead: Duration?
    let versions: HTTPDNSClient.AllowedVersions
    let headers: HostHeaderRules?
    let redirects: HTTPDNSClient.RedirectPolicy
    let retries: HTTPDNSClient.RetryPolicy
    let reachableNetworks: HTTPDNSClient.ReachableNetworks
    /// The trust settings for HTTPS proxies: the client's own, never those of a request's host.
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

/// The settings behind a reference: each call and each hop holds them, and copying the values would count references to
/// all of them.
final class SharedCallSettings: Sendable {
    let values: CallSettings

    init(_ values: CallSettings) { self.values = values }
}
