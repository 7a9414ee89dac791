internal import HTTPDNSCore

/// The proxies of the environment variables, read as curl 7.88 reads them (`detect_proxy` in lib/url.c).
struct ProxyEnvironment: Sendable {
    private typealias Reading = Result<HTTPDNSClient.Proxy?, HTTPDNSClientError>

    private let http: Reading
    private let https: Reading
    private let exceptions: HTTPDNSClient.Proxy.Exceptions

    init(_ environment: (String) -> String?) {
        /// An empty variable counts as unset (`curl_getenv`).
        func value(_ name: String) -> String? {
            guard let text = environment(name), !text.isEmpty else { return nil }
            return text
        }
        /// The first variable that is set decides.
        func read(_ names: [String]) -> Reading {
            guard let name = names.first(where: { value($0) != nil }), let text = value(name) else {
                return .success(nil)
            }
            do throws(HTTPDNSClientError) {
                return .success(try HTTPDNSClient.Proxy(text))
            } catch {
                var error = error
                error.message = "the environment variable \(name): \(error.message)"
                return .failure(error)
            }
        }
        http = read(["http_proxy", "all_proxy", "ALL_PROXY"])
        https = read(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
        exceptions = HTTPDNSClient.Proxy.Exceptions(curl: value("no_proxy") ?? value("NO_PROXY") ?? "")
    }

    /// Returns this value if both proxies can be used.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func checked() throws(HTTPDNSClientError) -> ProxyEnvironment {
        _ = try http.get()
        _ = try https.get()
        return self
    }

    /// Returns the proxy for a URL; nil when it is reached without one.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func proxy(for url: HTTPDNSRewriter.CanonicalURL) throws(HTTPDNSClientError) -> HTTPDNSClient.Proxy? {
        guard !exceptions.contains(url.host, port: url.port) else { return nil }
        return try (url.scheme == "https" ? https : http).get()
    }
}
