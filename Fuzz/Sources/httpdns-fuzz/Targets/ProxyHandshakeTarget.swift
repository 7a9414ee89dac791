// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNSNIO

extension FuzzTarget {
    /// The bytes of a client of the proxy, at once and in two pieces.
    static let proxyHandshake = FuzzTarget(name: "proxy-handshake") { octets in
        let login = ProxyLogin(user: "httpdns", password: "secret")
        var whole: [ProxyHandshake.Action]?
        for cut in [0, 1, octets.count / 2] where cut <= octets.count {
            var handshake = ProxyHandshake(login)
            let actions = handshake.received(octets[..<cut]) + handshake.received(octets[cut...])
            precondition(actions == whole ?? actions, "the pieces of a message do not matter")
            whole = actions
            let ends = actions.filter { action in
                if case .reply = action { false } else { true }
            }
            precondition(ends.count <= 1 && (ends.isEmpty || actions.last == ends.first), "nothing follows the end")
            guard case .connect(let target)? = ends.first else { continue }
            let text = String(decoding: octets, as: UTF8.self)
            precondition(text.contains("secret") || text.contains("aHR0cGRuczpzZWNyZXQ="), "nothing without a login")
            precondition(target.host.utf8.count <= ProxyHandshake.maximumBytes)
            let rest = handshake.takeRest()
            precondition(rest.isEmpty || octets.suffix(rest.count).elementsEqual(rest))
            precondition(!handshake.answer(to: .connected).isEmpty && handshake.received(octets).isEmpty)
        }
    }
}
