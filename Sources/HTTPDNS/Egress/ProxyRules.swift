// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore

extension HTTPDNSClient.Proxy {
    /// A set of rules that choose the proxy of each request.
    public struct Rules: Hashable, Sendable, CustomStringConvertible {
        enum Content: Hashable {
            case off
            case through(HTTPDNSClient.Proxy, except: HTTPDNSClient.Proxy.Exceptions)
            case environment
        }

        let content: Content

        /// The rules that use no proxy, whatever the environment contains.
        public static let off = HTTPDNSClient.Proxy.Rules(content: .off)

        /// The rules of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as curl
        /// reads them. They are read once, when the client is made.
        ///
        /// The variable of the URL's scheme comes before the one for all schemes, and lower case before upper case.
        /// `HTTP_PROXY` is never read, because a web server sets it from a request's `Proxy` field.
        public static let environment = HTTPDNSClient.Proxy.Rules(content: .environment)

        /// Returns rules that send all requests except those to `exceptions` through one proxy.
        public static func through(
            _ proxy: HTTPDNSClient.Proxy,
            except exceptions: HTTPDNSClient.Proxy.Exceptions = .none
        ) -> HTTPDNSClient.Proxy.Rules {
            HTTPDNSClient.Proxy.Rules(content: .through(proxy, except: exceptions))
        }

        /// `direct`, `environment`, or the proxy without its credential, and its exceptions.
        public var description: String {
            switch content {
            case .off: "direct"
            case .environment: "environment"
            case .through(let proxy, let exceptions):
                exceptions == .none ? "\(proxy)" : "\(proxy) except \(exceptions)"
            }
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate(_ environment: (String) -> String?) throws(HTTPDNSClientError) {
            switch content {
            case .off: break
            case .environment: try ProxyEnvironment(environment).check()
            case .through(let proxy, _):
                if let fault = proxy.fault { throw .configuration(fault) }
            }
        }

        /// The entries of `no_proxy` that match no host, if the rules are those of the environment.
        package func unusableExceptions(in environment: (String) -> String?) -> [String] {
            self == .environment ? ProxyEnvironment(environment).exceptions.unusable : []
        }
    }
}

extension HTTPDNSClient.Proxy {
    /// The reason why the proxy cannot be used; nil when it can.
    var fault: String? {
        guard port > 0 else { return "the proxy \(self) has port 0" }
        guard let credential else { return nil }
        do {
            try credential.check(for: kind)
            return nil
        } catch {
            return "the proxy \(self): \(error.message)"
        }
    }
}

/// The proxies of the environment variables, read as curl 7.88 reads them (`detect_proxy` in lib/url.c).
struct ProxyEnvironment: Sendable {
    private typealias Reading = Result<HTTPDNSClient.Proxy?, HTTPDNSClientError>

    private let http: Reading
    private let https: Reading
    fileprivate let exceptions: HTTPDNSClient.Proxy.Exceptions

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

    /// Checks that both proxies can be used.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func check() throws(HTTPDNSClientError) {
        _ = try http.get()
        _ = try https.get()
    }

    /// Returns the proxy for a URL; nil when it is reached without one.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func proxy(
        for url: HTTPDNSRewriter.CanonicalURL,
        usesTLS: Bool
    ) throws(HTTPDNSClientError) -> HTTPDNSClient.Proxy? {
        guard !exceptions.contains(url.host, port: url.port) else { return nil }
        return try (usesTLS ? https : http).get()
    }
}
