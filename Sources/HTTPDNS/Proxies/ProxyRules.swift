internal import HTTPDNSCore

extension HTTPDNSClient.Proxy {
    /// Which requests go through which proxy.
    public struct Rules: Hashable, Sendable, CustomStringConvertible {
        enum Content: Hashable {
            case inherited
            case direct
            case through(HTTPDNSClient.Proxy, except: HTTPDNSClient.Proxy.Exceptions)
            case environment
        }

        let content: Content

        /// No request goes through a proxy, whatever the environment says.
        public static let direct = HTTPDNSClient.Proxy.Rules(content: .direct)

        /// The rules of the client, ``HTTPDNSClient/Configuration/proxy``: the default of
        /// ``HTTPDNSClient/Request/Options/proxy``. The settings of a client refuse it with
        /// ``HTTPDNSClientError/Code/configuration``.
        public static let inherited = HTTPDNSClient.Proxy.Rules(content: .inherited)

        /// As the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say, by curl's rules: the
        /// variable of the URL's scheme, then the one for all; small letters before capitals, and `HTTP_PROXY` never, which a
        /// web server sets from a request's `HTTPDNSClient.Proxy` field. They are read once, when the client is made.
        public static let environment = HTTPDNSClient.Proxy.Rules(content: .environment)

        /// All requests but those to `exceptions` go through one.
        public static func through(
            _ proxy: HTTPDNSClient.Proxy,
            except exceptions: HTTPDNSClient.Proxy.Exceptions = .none
        ) -> HTTPDNSClient.Proxy.Rules {
            HTTPDNSClient.Proxy.Rules(content: .through(proxy, except: exceptions))
        }

        /// `direct`, `inherited`, `environment`, or the proxy without its credential, and its exceptions.
        public var description: String {
            switch content {
            case .inherited: "inherited"
            case .direct: "direct"
            case .environment: "environment"
            case .through(let proxy, let exceptions):
                exceptions == .none ? "\(proxy)" : "\(proxy) except \(exceptions)"
            }
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate(_ environment: (String) -> String?) throws(HTTPDNSClientError) {
            switch content {
            case .inherited: throw .inheritedInSettings("proxy", instead: ".direct is the default")
            case .direct: break
            case .environment: _ = try ProxyEnvironment(environment).checked()
            case .through(let proxy, _):
                if let fault = proxy.fault { throw .configuration(fault) }
            }
        }
    }
}

extension HTTPDNSClient.Proxy {
    /// Why it can be none; nil when it can.
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
