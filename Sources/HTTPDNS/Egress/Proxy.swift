// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// A proxy that requests go through.
    ///
    /// Its printed and dumped form is its kind, host and port; no text contains the credential.
    public struct Proxy: Hashable, Sendable, HTTPDNSRedacted {
        /// The protocol spoken with the proxy.
        public var kind: HTTPDNSClient.Proxy.Kind
        /// The name or address of the proxy. A name is resolved by the mappings, if they have addresses for it,
        /// otherwise by the system resolver; providers never receive it.
        public var host: HTTPDNSHost
        /// The port of the proxy.
        public var port: UInt16
        /// The credential for the proxy; nil for none.
        public var credential: HTTPDNSClient.Proxy.Credential?
        /// Whether the client resolves the names of URLs, by mappings, providers and policy as without a proxy, and
        /// sends the proxy addresses. When false, the proxy receives names and resolves them itself.
        /// `HTTPDNSClient.Proxy.Kind.socks4` and `HTTPDNSClient.Proxy.Kind.socks5` receive addresses in any case.
        ///
        /// Through an HTTP proxy this also makes a tunnel (CONNECT) for requests to `http` URLs, which many proxies
        /// allow to port 443 only.
        public var resolvesLocally = false
        /// Whether the proxy itself enforces the ``HTTPDNSClient/ReachableNetworks`` of requests, so that names may be
        /// sent to it. The client cannot check this. If it is set and the proxy does not enforce them, such a request
        /// reaches every address that the proxy reaches.
        public var enforcesReachableNetworks = false

        /// Creates a proxy without credential.
        public init(_ kind: HTTPDNSClient.Proxy.Kind, host: HTTPDNSHost, port: UInt16) {
            self.kind = kind
            self.host = host
            self.port = port
        }

        /// Whether the proxy receives addresses.
        package var takesAddresses: Bool { resolvesLocally || kind.needsAddress }

        /// The kind, host and port, such as `http://proxy.test:3128`.
        public var description: String {
            switch host {
            case .name(let name): "\(kind)://\(name):\(port)"
            case .address(let address): "\(kind)://\(address.bracketed):\(port)"
            }
        }
    }
}

extension HTTPDNSClient.Proxy {
    /// A credential for a proxy: Basic or Digest for HTTP proxies, user and password for SOCKS 5, the user alone for
    /// SOCKS 4.
    ///
    /// The password is read for each request, so that the next connection uses a changed one.
    public struct Credential: Hashable, Sendable, HTTPDNSRedacted {
        /// The scheme that proves the credential to an HTTP proxy.
        public struct Scheme: Hashable, Sendable, CustomStringConvertible {
            /// The value in the configuration file.
            public let description: String

            /// Basic (RFC 7617): the credential is sent with the first request. The default.
            public static let basic = Scheme(description: "basic")
            /// Digest (RFC 7616): the password is never sent.
            ///
            /// Challenges to tunnels (CONNECT) are answered by libcurl (CURLAUTH_DIGEST). Challenges to forwarded requests
            /// for `http` URLs need the package trait `Digest`; without it they fail with
            /// ``HTTPDNSClientError/Code/proxyLoginRefused``.
            public static let digest = Scheme(description: "digest")
        }

        /// The user name.
        public var user: String
        /// The source of the password; nil for an empty one.
        public var password: HTTPDNSSecret?
        /// The scheme for an HTTP proxy. Digest needs a password, and is refused for SOCKS.
        public var scheme = Scheme.basic

        /// Creates a credential for the scheme Basic.
        public init(user: String, password: HTTPDNSSecret?) {
            self.user = user
            self.password = password
        }

        /// A constant text without the credential.
        public var description: String { "a proxy credential" }
    }
}

extension HTTPDNSClient.Proxy {
    /// Parses a proxy as curl does: `[scheme://][user[:password]@]host[:port]`.
    ///
    /// Without a scheme it is an HTTP proxy; `socks` is `socks4`. Without a port it is 443 for `https` and 1080 for all
    /// others, which are curl's defaults. Bytes of user and password may be percent-encoded. A path is ignored.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`; its message leaves user and password out.
    public init(_ text: String) throws(HTTPDNSClientError) {
        func refusal(_ reason: String) -> HTTPDNSClientError {
            .configuration(
                "the proxy \"\(HTTPDNSClient.Proxy.shown(text))\" cannot be used: \(reason)",
                hint:
                    "write it as http://proxy.example:3128; schemes are http, https, socks4, socks4a, socks5 and socks5h"
            )
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw refusal("it has a space or a control character")
        }
        var rest = text[...]
        var kind = HTTPDNSClient.Proxy.Kind.http
        if let end = text.utf8.firstRange(of: "://".utf8) {
            let scheme = text[..<end.lowerBound].lowercased()
            guard let known = scheme == "socks" ? .socks4 : HTTPDNSClient.Proxy.Kind(rawValue: scheme) else {
                // The text here may be a user and a password.
                throw refusal("its scheme is unknown")
            }
            kind = known
            rest = text[end.upperBound...]
        }
        // The last at-sign counts: a password may contain one, and also a slash that was not encoded.
        var login: Substring?
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
            login = rest[..<at]
            rest = rest[rest.utf8.index(after: at)...]
        }
        rest = rest[..<(rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex)]
        let (host, portText) = HTTPDNSClient.Proxy.split(rest)
        var port: UInt16 = kind == .https ? 443 : 1080
        if let portText {
            guard let number = UInt16(digits: portText), number > 0 else { throw refusal("its port is not 1 to 65535") }
            port = number
        }
        do {
            self.init(kind, host: try HTTPDNSRewriter.host(String(host)), port: port)
        } catch {
            // The error contains the host's text, which may be a user and a password.
            let hasColon = host.utf8.contains(UInt8(ascii: ":"))
            throw refusal(hasColon ? "its host is no name and no address; IPv6 stands in brackets" : error.message)
        }
        if let login {
            do {
                credential = try HTTPDNSClient.Proxy.Credential(login, kind)
            } catch {
                throw refusal(error.message)
            }
        }
    }

    /// Returns the text without a possible password. If its at-sign is missing or was encoded, the password is the text
    /// after a colon that is not a port.
    private static func shown(_ text: String) -> String {
        let shown = URLText.forErrors(text)
        guard !text.utf8.contains(UInt8(ascii: "@")) else { return shown }
        var rest = shown[...]
        if let end = rest.utf8.firstRange(of: "://".utf8), !rest[..<end.lowerBound].utf8.contains(UInt8(ascii: ":")) {
            rest = rest[end.upperBound...]
        }
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") { rest = rest[end...] }
        guard let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")) else { return shown }
        let port = rest[rest.utf8.index(after: colon)...].prefix { $0 != "/" }
        guard !port.allSatisfy(\.isWholeNumber) else { return shown }
        return shown[...colon] + "..."
    }

    /// - Returns: The host, with an IPv6 address without brackets, and the text after the colon.
    private static func split(_ text: Substring) -> (host: Substring, port: Substring?) {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return (text, nil) }
            return (text[text.index(after: text.startIndex)..<end], rest.isEmpty ? nil : rest.dropFirst())
        }
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }
}

extension HTTPDNSClient.Proxy.Credential {
    /// Parses `user[:password]`, percent-encoded.
    fileprivate init(_ text: Substring, _ kind: HTTPDNSClient.Proxy.Kind) throws(HTTPDNSClientError) {
        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        guard let user = Self.decoded(text[..<(colon ?? text.endIndex)]),
            let password = Self.decoded(colon.map { text[text.utf8.index(after: $0)...] } ?? "")
        else { throw .configuration("user or password is not UTF-8, or has a control character") }
        self.init(user: user, password: password.isEmpty ? nil : .text(password))
        try check(for: kind)
    }

    private static func decoded(_ text: Substring) -> String? {
        let bytes = PercentCoding.decoded(text.utf8)
        return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f } ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for a user that cannot be sent.
    func check(for kind: HTTPDNSClient.Proxy.Kind) throws(HTTPDNSClientError) {
        guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }), !user.isEmpty || password == nil else {
            throw .configuration("the user is empty or has a control character")
        }
        guard scheme == .basic || kind.isHTTP && password != nil else {
            let reason = kind.isHTTP ? "needs a password" : "is for HTTP proxies, and this is \(kind)"
            throw .configuration("the scheme Digest of the proxy's login \(reason)")
        }
        guard !kind.isHTTP || scheme == .digest || !user.utf8.contains(UInt8(ascii: ":")) else {
            throw .configuration("the user has a colon, which ends the user in a Basic credential (RFC 7617)")
        }
    }
}
