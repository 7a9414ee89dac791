// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSNIO

extension FuzzTarget {
    /// The bytes of a client of `io.systemd.Resolve`, at once and in two pieces, and replies whose addresses the bytes choose.
    static let varlink = FuzzTarget(name: "varlink") { octets in
        var whole: [[UInt8]]?
        for cut in [0, octets.count / 2] {
            var messages = VarlinkMessages()
            guard messages.received(octets[..<cut]), messages.received(octets[cut...]) else { return }
            var taken: [[UInt8]] = []
            while let message = messages.next() {
                taken.append(message)
                messages.replied()
            }
            precondition(taken == whole ?? taken, "the pieces of a message do not matter")
            whole = taken
        }
        for message in whole ?? [] {
            guard let request = VarlinkRequest(message) else { continue }
            switch request {
            case .other(let method): check(.notOurs(method))
            case .hostname(let text, let family):
                guard case .name(let name)? = try? HTTPDNSHost(text) else { continue }
                let endpoints = octets.compactMap { octet in
                    HTTPDNSAddress(octet & 1 == 0 ? "10.0.0.\(octet)" : "fd00::\(octet)").map {
                        HTTPDNSEndpoint(address: $0, port: octet % 7 == 0 ? 443 : 0)
                    }
                }
                check(.addresses(endpoints, of: name, family: family), family)
            case .records(let keys):
                guard let question = HookQuestion(keys) else { continue }
                let endpoints = octets.prefix(40).map {
                    HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 10, 0, 0, $0), port: $0 % 7 == 0 ? 443 : 0)
                }
                let resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: .mapping)
                let reply = VarlinkReply.hook(.found(resolution), question)
                precondition(
                    (try? JSONReader.read(Array(reply.bytes.dropLast())))?["parameters"]?["rcode"]?.uint16 == 0
                )
            case .information, .oneWay, .filter: break
            }
        }
    }

    /// A reply that would stop its reader: text that is no JSON, no address, or an address of another family.
    private static func check(_ reply: VarlinkReply, _ family: HTTPDNSAddress.Family? = nil) {
        precondition(reply.bytes.last == 0 && !reply.bytes.dropLast().contains(0))
        guard let value = try? JSONReader.read(Array(reply.bytes.dropLast())) else { fatalError("a reply is JSON") }
        guard let addresses = value["parameters"]?["addresses"] else {
            precondition(value["error"]?.text?.isEmpty == false)
            return
        }
        guard case .array(let list) = addresses, !list.isEmpty, list.count <= 2 * VarlinkReply.maximumAddresses else {
            fatalError("a reply has addresses")
        }
        for entry in list {
            guard case .array(let bytes)? = entry["address"], let number = entry["family"]?.uint16 else { fatalError() }
            precondition(bytes.count == (number == 2 ? 4 : 16) && (family == nil || (family == .v4) == (number == 2)))
        }
    }
}
