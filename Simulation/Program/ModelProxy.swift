// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The proxy of a world, without TLS: HTTP that forwards requests, or that opens tunnels, and SOCKS.
///
/// Where it opens tunnels, the client resolves the names: requests in them keep to all rules.
struct ModelProxy {
    enum Kind: CaseIterable { case forwarding, connect, socks4, socks5 }
    /// What a new connection has to bring next.
    enum Step { case greeting, login, target }

    static let host = "proxy.test"
    static let addresses = [HTTPDNSAddress(v4: 9, 9, 8, 1), HTTPDNSAddress(v4: 9, 9, 8, 2)]
    /// "u:p" in Base64.
    static let login = "Basic dTpw"

    let kind: Kind
    let hasLogin: Bool
    let hasName: Bool

    init?(seed: UInt64) {
        var draw = Draw(seed, "proxy")
        guard draw.happens(14) else { return nil }
        kind = draw.pick(Kind.allCases)
        hasLogin = draw.happens(50) && kind != .socks4
        hasName = draw.happens(50)
    }

    var firstStep: Step? { kind == .forwarding ? nil : kind == .socks5 ? .greeting : .target }

    func rules() throws -> HTTPDNSClient.Proxy.Rules {
        let kinds: [Kind: HTTPDNSClient.Proxy.Kind] = [.socks4: .socks4, .socks5: .socks5]
        let host = hasName ? HTTPDNSHost.name(try HTTPDNSName(ModelProxy.host)) : .address(ModelProxy.addresses[0])
        var proxy = HTTPDNSClient.Proxy(kinds[kind] ?? .http, host: host, port: 3128)
        proxy.resolvesLocally = kind == .connect
        if hasLogin { proxy.credential = .init(user: "u", password: .text("p")) }
        return .through(proxy)
    }

    /// A message of the client that opens a tunnel, and what the proxy returns.
    struct Answer {
        /// The bytes of the message.
        var count: Int
        var bytes: [UInt8]
        /// The step that follows; nil for an open tunnel.
        var next: Step?
        /// The end of the tunnel.
        var target: HTTPDNSAddress?
        var isOver = false
    }

    /// Reads a message; nil while it is not complete.
    /// - Parameter refusal: Returns the number of the kind of refusal, from 0; nil for a tunnel that is opened.
    func answer(
        _ step: Step,
        _ bytes: [UInt8],
        in stage: Stage,
        refusal: (String) -> Int?
    ) -> Answer? {
        switch (kind, step) {
        case (.socks5, .greeting):
            guard bytes.count > 1, bytes.count >= 2 + Int(bytes[1]) else { return nil }
            let count = 2 + Int(bytes[1])
            let isRefused = refusal("greeting") != nil
            let method: UInt8 = isRefused ? 0xff : hasLogin ? 2 : 0
            return Answer(count: count, bytes: [5, method], next: hasLogin ? .login : .target, isOver: isRefused)
        case (.socks5, .login):
            guard bytes.count > 1, bytes.count > 2 + Int(bytes[1]) else { return nil }
            let count = 3 + Int(bytes[1]) + Int(bytes[2 + Int(bytes[1])])
            guard bytes.count >= count else { return nil }
            let isRight = bytes.prefix(count) == [1, 1, UInt8(ascii: "u"), 1, UInt8(ascii: "p")]
            if !isRight { stage.violate("a proxy gets its login", "\(bytes.prefix(count))") }
            let isRefused = refusal("login") != nil
            return Answer(count: count, bytes: [1, isRefused ? 1 : 0], next: .target, isOver: isRefused)
        case (.socks5, _):
            guard bytes.count > 4 else { return nil }
            let length = bytes[3] == 1 ? 4 : 16
            guard bytes.count >= 6 + length else { return nil }
            let target = HTTPDNSAddress(bytes: bytes[4..<4 + length])
            let refused = refusal("\(target.map { "\($0)" } ?? "-")")
            let code = refused.map { UInt8(1 + $0 % 8) } ?? 0
            let answer: [UInt8] = [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
            return Answer(count: 6 + length, bytes: answer, target: target, isOver: refused != nil)
        case (.socks4, _):
            guard bytes.count > 8, let end = bytes[8...].firstIndex(of: 0) else { return nil }
            let target = HTTPDNSAddress(bytes: bytes[4..<8])
            let refused = refusal("\(target.map { "\($0)" } ?? "-")")
            let answer: [UInt8] = [0, refused.map { UInt8(91 + $0 % 3) } ?? 90, 0, 0, 0, 0, 0, 0]
            return Answer(count: end + 1, bytes: answer, target: target, isOver: refused != nil)
        default:
            guard let end = headEnd(in: bytes) else { return nil }
            let request = ReceivedRequest(head: bytes[..<end])
            let authority = request.target.split(separator: "/").last ?? ""
            let text = authority.prefix(upTo: authority.lastIndex(of: ":") ?? authority.endIndex)
            let target = HTTPDNSAddress(String(text.filter { $0 != "[" && $0 != "]" }))
            if request.proxyAuthorization != (hasLogin ? ModelProxy.login : nil) {
                stage.violate("a proxy gets its login", "\(request.target)")
            }
            let refused = refusal("\(target.map { "\($0)" } ?? "-")")
            let challenge = "407 Login\r\nProxy-Authenticate: Basic realm=\"x\""
            let statuses = ["403 No", challenge, "502 Bad", "504 Late"]
            let status = refused.map { statuses[$0 % statuses.count] + "\r\nContent-Length: 0" } ?? "200 Connected"
            return Answer(
                count: end,
                bytes: Array("HTTP/1.1 \(status)\r\n\r\n".utf8),
                target: target,
                isOver: refused != nil
            )
        }
    }
}
