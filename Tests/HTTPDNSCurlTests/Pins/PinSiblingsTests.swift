// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCurl

struct PinSiblingsTests {
    private static let maximum = PinSiblings.maximumConnections

    private func key(
        _ number: UInt8 = 1,
        _ versions: HTTPDNSTransfer.AllowedVersions = .automatic,
        egressPath: EgressPath? = nil
    ) -> PinKey {
        let address = HTTPDNSAddress(v4: 10, 0, 0, number)
        return PinKey(
            host: .name("one.test"),
            port: 80,
            endpoint: HTTPDNSEndpoint(address: address, port: 80),
            versions: versions,
            egressPath: egressPath
        )
    }

    @Test("Many connections of a key get further names, and a free one is used first")
    func furtherNames() {
        var table = PinTable(maximumPins: 256)
        let first = (0..<Self.maximum).map { _ in table.acquire(key(), for: .http) }
        #expect(first.allSatisfy { $0 === first[0] })
        for number in 0..<Self.maximum { table.opened(Int32(number), for: first[0], inode: UInt64(number)) }
        let second = table.acquire(key(), for: .http)
        #expect(second.name != first[0].name && second.key == first[0].key)
        table.opened(1_000, for: second, inode: 1_000)
        // A connection of the first name is free, and one of the second.
        table.release(first[0])
        table.release(second)
        let next = (0..<3).map { _ in table.acquire(key(), for: .http) }
        #expect(next[0] === second && next[1] === first[0] && next[2] === second)
        #expect(table.count == 1)
    }

    /// A request, and whether its key may have several names.
    struct NamedCase: Sendable {
        var scheme = ParsedURL.Scheme.http
        var versions = HTTPDNSTransfer.AllowedVersions.automatic
        var path: EgressPath?
        let hasSeveral: Bool
    }

    private static let cases: [NamedCase] = [
        NamedCase(hasSeveral: true),
        NamedCase(scheme: .https, versions: .http1Only, hasSeveral: true),
        NamedCase(scheme: .https, versions: .http10Only, hasSeveral: true),
        NamedCase(scheme: .https, hasSeveral: false),
        NamedCase(scheme: .https, versions: .http2Only, hasSeveral: false),
        NamedCase(versions: .http2Only, hasSeveral: false),
        NamedCase(path: EgressPath(unixSocket: "/s"), hasSeveral: false),
    ]

    @Test("Requests that may share a connection, or have an egress path, have one name", arguments: cases)
    func oneName(example: NamedCase) {
        var table = PinTable(maximumPins: 256)
        let key = key(1, example.versions, egressPath: example.path)
        let names = Set((0..<1_000).map { _ in table.acquire(key, for: example.scheme).name })
        #expect(names.count == (example.hasSeveral ? 16 : 1))
    }

    /// Compares the table with plain lists, under random events.
    @Test("A free connection is never passed over, and names are used once")
    func model() {
        let names = SharedPinNames()
        var table = PinTable(maximumPins: 256, names: names)
        var transfers: [Pin] = []
        var connections: [(descriptor: Int32, pin: Pin)] = []
        /// The numbers of transfers and connections of each name.
        var (used, open): ([String: Int], [String: Int]) = ([:], [:])
        var next: Int32 = 0
        func free(_ name: String) -> Int { open[name, default: 0] - used[name, default: 0] }
        for step in 0..<8_000 {
            // The number of transfers grows and shrinks twice.
            let grows = step / 2_000 % 2 == 0
            switch Int.random(in: 0..<10) {
            case 0..<(grows ? 6 : 2):
                let hadFree = open.keys.contains { free($0) > 0 }
                let pin = table.acquire(key(), for: .http)
                if hadFree {
                    #expect(free(pin.name) > 0)
                } else {
                    #expect(open[pin.name, default: 0] < Self.maximum)
                    // No pin that is in use has the name of another one.
                    #expect(transfers.allSatisfy { ($0.name == pin.name) == ($0 === pin) })
                    table.opened(next, for: pin, inode: UInt64(next))
                    connections.append((next, pin))
                    open[pin.name, default: 0] += 1
                    next += 1
                }
                transfers.append(pin)
                used[pin.name, default: 0] += 1
            case 0..<9 where !transfers.isEmpty:
                let pin = transfers.remove(at: Int.random(in: transfers.indices))
                used[pin.name, default: 0] -= 1
                table.release(pin)
            case 9:
                // The server closes a connection that no transfer uses.
                guard let index = connections.indices.filter({ free(connections[$0].pin.name) > 0 }).randomElement()
                else { continue }
                let connection = connections.remove(at: index)
                open[connection.pin.name, default: 0] -= 1
                table.closed(connection.descriptor)
            default: break
            }
        }
        for pin in transfers { table.release(pin) }
        for connection in connections { table.closed(connection.descriptor) }
        #expect(table.count == 1 && table.entryCount == 1)
        #expect(names.count == 1)
        let last = table.acquire(key(), for: .http)
        #expect(last.siblings == nil)
    }

    @Test("A retired key loses all of its names, once each")
    func retired() {
        var table = PinTable(maximumPins: 256)
        let pins = (0..<200).map { _ in table.acquire(key(), for: .http) }
        for (number, pin) in pins.enumerated() { table.opened(Int32(number), for: pin, inode: UInt64(number)) }
        let old = Set(pins.map(\.name))
        #expect(old.count == 4)
        // Any of them stands for all.
        let retired = table.retire(pins[199])
        #expect(Set(retired.map(\.name)) == old && pins.allSatisfy { $0.isRetired && $0.siblings == nil })
        #expect(table.retire(pins[0]).isEmpty)
        let after = table.acquire(key(), for: .http)
        #expect(!old.contains(after.name))
        for number in 0..<200 { table.closed(Int32(number)) }
        for pin in pins { table.release(pin) }
        let names = (2..<100).map { table.acquire(key($0)).name }
        #expect(Set(names).count == names.count && old.isSubset(of: names))
    }
}

/// The question that makes libcurl forget the connection of an easy handle.
struct EmptyConnectionPoolTests {
    @Test("libcurl forgets the connection of an ended transfer, and keeps it open")
    func forgotten() async throws {
        let server = try RawServer(.serve("ok"))
        let multi = try #require(curl_multi_init())
        let curl = try #require(curl_easy_init())
        defer {
            curl_multi_cleanup(multi)
            curl_easy_cleanup(curl)
        }
        let pool = EmptyConnectionPool()
        let sessions = TLSSessions()
        sessions.use(by: curl)
        _ = ccurl_set_string(curl, CURLOPT_URL, "http://127.0.0.1:\(server.port)/")
        _ = ccurl_set_data_function(curl, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count }
        for _ in 0..<3 {
            #expect(curl_multi_add_handle(multi, curl) == CURLM_OK)
            var code = CURLE_AGAIN
            var running: Int32 = 1
            while ccurl_next_finished(multi, &code) == nil {
                #expect(curl_multi_perform(multi, &running) == CURLM_OK)
                curl_multi_poll(multi, nil, 0, 1_000, nil)
            }
            #expect(code == CURLE_OK && socket(of: curl) >= 0)
            pool.forgetConnection(of: curl)
            sessions.use(by: curl)
            #expect((socket(of: curl) < 0) == CurlLibrary.looksForLastConnection)
            #expect(curl_multi_remove_handle(multi, curl) == CURLM_OK)
        }
        #expect(server.connections.count == 1)
    }

    private func socket(of curl: UnsafeMutableRawPointer) -> curl_socket_t {
        var socket: curl_socket_t = -1
        _ = ccurl_get_socket(curl, CURLINFO_ACTIVESOCKET, &socket)
        return socket
    }
}
