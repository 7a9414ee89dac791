// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSPrimitives

/// The beginning of a client's connection to the proxy: SOCKS 5 with a password (RFC 1928, RFC 1929), or CONNECT (RFC 9110
/// section 9.3.6). A value: bytes in, actions out.
///
/// A client may send everything at once. Not the handler of swift-nio-extras: it takes one message a read, has no password, and
/// stops the process when a connection fails (1.35.2).
struct ProxyHandshake: Sendable {
    /// The destination that a client asks for.
    struct Target: Hashable, Sendable {
        /// A name or an address, as the client wrote it.
        var host: String
        var port: UInt16
    }

    enum Action: Hashable, Sendable {
        /// Send these bytes.
        case reply([UInt8])
        /// Connect, and send ``answer(to:)``. All bytes from now on are for the destination (``takeRest()``).
        case connect(Target)
        /// Send these bytes, and close the connection.
        case refuse([UInt8], Refusal)
    }

    /// The reason for a connection that ends in the handshake.
    enum Refusal: Hashable, Sendable {
        case login
        /// Neither SOCKS 5 nor HTTP, or against their rules.
        case malformed
        /// A request to forward a message, a SOCKS command other than CONNECT.
        case unsupported
    }

    /// The outcome of a connection to a destination.
    enum Outcome: Hashable, Sendable {
        case connected
        /// The policy, or the proxy's own limits, do not allow it.
        case forbidden(String)
        case unresolved(String)
        case unreachable(String)
        case late(String)
        /// No more tunnels.
        case full(String)
    }

    /// The maximum number of bytes before the end of the request.
    static let maximumBytes = 8192

    private enum Stage: Hashable, Sendable {
        case first, password, request, head
        case connecting(isSOCKS: Bool)
        case refused
    }

    private let login: ProxyLogin
    private var stage = Stage.first
    private var bytes: [UInt8] = []
    /// The number of bytes before which the end of a head is not.
    private var searched = 0

    init(_ login: ProxyLogin) { self.login = login }

    /// Takes bytes from the client.
    mutating func received(_ more: some Sequence<UInt8>) -> [Action] {
        if stage == .refused { return [] }
        bytes += more
        var actions: [Action] = []
        while let action = next() { actions.append(action) }
        if case .connecting = stage { return actions }
        if bytes.count > ProxyHandshake.maximumBytes { actions.append(refuse(tooLong, .malformed)) }
        return actions
    }

    /// Returns the answer to the client's request.
    func answer(to outcome: Outcome) -> [UInt8] {
        guard case .connecting(let isSOCKS) = stage else { return [] }
        if isSOCKS { return ProxyHandshake.reply(outcome.socksCode) }
        guard let (status, text) = outcome.failure else {
            return Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
        }
        return ProxyHandshake.response(status, text)
    }

    /// Returns the bytes after the request.
    mutating func takeRest() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    private var tooLong: [UInt8] {
        stage == .head
            ? ProxyHandshake.response("431 Request Header Fields Too Large", "the request is longer than 8 KiB") : []
    }

    /// Takes the next message; nil when its end has not arrived.
    private mutating func next() -> Action? {
        switch stage {
        case .first: return bytes.first == 5 ? greeting() : startHead()
        case .password: return password()
        case .request: return request()
        case .head: return head()
        case .connecting, .refused: return nil
        }
    }

    private mutating func refuse(_ reply: [UInt8], _ refusal: Refusal) -> Action {
        (stage, bytes) = (.refused, [])
        return .refuse(reply, refusal)
    }

    // MARK: SOCKS

    private mutating func greeting() -> Action? {
        guard bytes.count >= 2, bytes.count >= 2 + Int(bytes[1]) else { return nil }
        let methods = bytes[2..<2 + Int(bytes[1])]
        guard methods.contains(2) else { return refuse([5, 0xFF], .login) }
        bytes.removeFirst(2 + Int(bytes[1]))
        stage = .password
        return .reply([5, 2])
    }

    private mutating func password() -> Action? {
        guard let version = bytes.first else { return nil }
        guard version == 1 else { return refuse([], .malformed) }
        guard bytes.count >= 2, bytes.count >= 3 + Int(bytes[1]) else { return nil }
        let userEnd = 2 + Int(bytes[1])
        let end = userEnd + 1 + Int(bytes[userEnd])
        guard bytes.count >= end else { return nil }
        guard login.isEqual(user: bytes[2..<userEnd], password: bytes[(userEnd + 1)..<end]) else {
            return refuse([1, 1], .login)
        }
        bytes.removeFirst(end)
        stage = .request
        return .reply([1, 0])
    }

    private mutating func request() -> Action? {
        guard bytes.count >= 5 else { return nil }
        guard bytes[0] == 5, bytes[2] == 0 else { return refuse([], .malformed) }
        let length: Int
        switch bytes[3] {
        case 1: length = 4
        case 3: length = 1 + Int(bytes[4])
        case 4: length = 16
        default: return refuse(ProxyHandshake.reply(8), .unsupported)
        }
        guard bytes.count >= 4 + length + 2 else { return nil }
        guard bytes[1] == 1 else { return refuse(ProxyHandshake.reply(7), .unsupported) }
        let address = bytes[4..<4 + length]
        let host =
            if bytes[3] == 3 {
                String(decoding: address.dropFirst(), as: UTF8.self)
            } else {
                HTTPDNSAddress(bytes: address)?.description ?? ""
            }
        let port = UInt16(bytes[4 + length]) << 8 | UInt16(bytes[5 + length])
        return connect(Target(host: host, port: port), length: 4 + length + 2, isSOCKS: true)
    }

    private static func reply(_ code: UInt8) -> [UInt8] { [5, code, 0, 1, 0, 0, 0, 0, 0, 0] }

    private mutating func connect(_ target: Target, length: Int, isSOCKS: Bool) -> Action {
        bytes.removeFirst(length)
        stage = .connecting(isSOCKS: isSOCKS)
        return .connect(target)
    }

    // MARK: HTTP

    private mutating func startHead() -> Action? {
        guard let first = bytes.first else { return nil }
        // The first byte of a method (RFC 9110 section 5.6.2); TLS begins with 22.
        guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first else { return refuse([], .malformed) }
        stage = .head
        return head()
    }

    private mutating func head() -> Action? {
        guard let end = endOfHead() else { return nil }
        guard end + 4 <= ProxyHandshake.maximumBytes else { return refuse(tooLong, .malformed) }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
            return refuse(
                ProxyHandshake.response("400 Bad Request", "this is a proxy for HTTP/1.1 and SOCKS 5"),
                .malformed
            )
        }
        let name = "proxy-authorization:"
        let credential = lines.dropFirst().first { $0.lowercased().hasPrefix(name) }?.dropFirst(name.count)
        guard let credential, login.isEqual(basic: credential) else {
            let field = "Proxy-Authenticate: Basic realm=\"httpdns\"\r\n"
            let text = "the proxy wants its password"
            return refuse(
                ProxyHandshake.response("407 Proxy Authentication Required", text, fields: field),
                .login
            )
        }
        guard words[0] == "CONNECT" else {
            let text =
                "this proxy makes tunnels and forwards no messages: set all_proxy=socks5h://..., or let the client use CONNECT"
            return refuse(ProxyHandshake.response("501 Not Implemented", text), .unsupported)
        }
        guard let target = ProxyHandshake.target(words[1]) else {
            return refuse(ProxyHandshake.response("400 Bad Request", "CONNECT takes host:port"), .malformed)
        }
        return connect(target, length: end + 4, isSOCKS: false)
    }

    /// Returns the number of bytes before the empty line.
    private mutating func endOfHead() -> Int? {
        while searched + 4 <= bytes.count {
            if bytes[searched] == 13, bytes[searched..<searched + 4].elementsEqual([13, 10, 13, 10]) {
                return searched
            }
            searched += 1
        }
        return nil
    }

    private static func target(_ text: Substring) -> Target? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(digits: text[text.index(after: colon)...]) else {
            return nil
        }
        return Target(host: String(text[..<colon]), port: port)
    }

    private static func response(_ status: String, _ text: String, fields: String = "") -> [UInt8] {
        let body = "httpdns: \(text)\n"
        return Array(
            ("HTTP/1.1 \(status)\r\n\(fields)Content-Type: text/plain; charset=utf-8\r\n"
                + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)").utf8
        )
    }
}

extension ProxyHandshake.Outcome {
    /// The code of a SOCKS reply (RFC 1928 section 6).
    fileprivate var socksCode: UInt8 {
        switch self {
        case .connected: 0
        case .full: 1
        case .forbidden: 2
        case .unresolved, .late: 4
        case .unreachable: 5
        }
    }

    /// The status of a response to CONNECT, and its text.
    fileprivate var failure: (String, String)? {
        switch self {
        case .connected: nil
        case .forbidden(let text): ("403 Forbidden", text)
        case .unresolved(let text), .unreachable(let text): ("502 Bad Gateway", text)
        case .late(let text): ("504 Gateway Timeout", text)
        case .full(let text): ("503 Service Unavailable", text)
        }
    }
}

/// The user and the password of a proxy, which is never printed.
struct ProxyLogin: Sendable, CustomStringConvertible, CustomReflectable {
    let user: String
    let password: String
    private let basic: [UInt8]

    /// Draws a password of 128 bits.
    init(user: String) {
        // Its letters need no percent-encoding in a URL.
        self.init(user: user, password: Base64.urlText((0..<16).map { _ in UInt8.random(in: .min ... .max) }))
    }

    init(user: String, password: String) {
        (self.user, self.password) = (user, password)
        basic = Array(Base64.text(Array("\(user):\(password)".utf8)).utf8)
    }

    var description: String { "ProxyLogin(\(user))" }
    var customMirror: Mirror { Mirror(self, children: []) }

    func isEqual(user: some Collection<UInt8>, password: some Collection<UInt8>) -> Bool {
        ProxyLogin.areEqual(user, Array(self.user.utf8)) && ProxyLogin.areEqual(password, Array(self.password.utf8))
    }

    /// - Parameter field: The value of a field `Proxy-Authorization`.
    func isEqual(basic field: Substring) -> Bool {
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic" else { return false }
        return ProxyLogin.areEqual(words[1].utf8, basic)
    }

    /// Compares in a time that does not depend on the content.
    private static func areEqual(_ given: some Collection<UInt8>, _ own: [UInt8]) -> Bool {
        guard given.count == own.count else { return false }
        return zip(given, own).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
