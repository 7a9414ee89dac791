// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

/// The settings of a client that apply to each call.
struct CallSettings: Hashable, Sendable {
    let options: HTTPDNSClient.Options
    let headers: HostHeaderRules?
    let retryBudget: HTTPDNSClient.RetryPolicy.Budget
    let credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential]
    /// The trust settings for HTTPS proxies: the client's own, never those of a request's host.
    let proxyTrust: ProxyTrust

    init(_ configuration: HTTPDNSClient.Configuration) {
        options = configuration.options
        headers = HostHeaderRules(configuration.headers)
        retryBudget = configuration.retryBudget
        credentials = configuration.credentials
        proxyTrust = ProxyTrust(configuration.trust)
    }
}

/// The settings behind a reference: each call and each hop holds them, and copying the values would count references to
/// all of them.
final class SharedCallSettings: Sendable {
    let values: CallSettings
    /// The options of a call that changes nothing.
    let options: HTTPDNSClient.Request.SharedOptions

    init(_ values: CallSettings) {
        self.values = values
        options = HTTPDNSClient.Request.SharedOptions(HTTPDNSClient.Request.Options(values.options))
    }
}
