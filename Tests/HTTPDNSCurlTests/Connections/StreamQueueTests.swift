// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct StreamQueueTests {
    /// libcurl and a server with a limit, as far as ``StreamQueue`` knows of them.
    private struct Model {
        private var table = PinTable(maximumPins: 256)
        private let pin: Pin
        private let serverLimit: Int
        private let maximum: Int
        /// The connections that know the server's limit.
        private var settled: Set<ObjectIdentifier> = []
        private var dialing: [Connection] = []
        private var nextDescriptor: Int32 = 10
        private(set) var waiting: Int
        private(set) var mostDials = 0

        init(requests: Int, serverLimit: Int, maximum: Int) {
            pin = table.acquire(
                PinKey(
                    host: .name("one.test"),
                    port: 443,
                    endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 443),
                    versions: .automatic
                )
            )
            waiting = requests
            self.serverLimit = serverLimit
            self.maximum = maximum
        }

        var connections: Int { pin.connections.all.count }
        var carried: Int { pin.connections.all.reduce(0) { $0 + $1.transfers } }

        /// The streams that libcurl allows on a connection.
        private func limit(of connection: Connection) -> Int {
            min(maximum, settled.contains(ObjectIdentifier(connection)) ? serverLimit : 100)
        }

        /// Gives libcurl what it may have.
        /// - Returns: The number of transfers.
        mutating func turn() -> Int {
            let before = waiting
            while waiting > 0 {
                let admission = pin.streams.admission(on: pin.connections, maximum: maximum)
                if admission == .none { break }
                waiting -= 1
                pin.streams.began()
                let free = pin.connections.all.first { $0.version == .http2 && $0.transfers < limit(of: $0) }
                if let free, admission != .oneOnNewConnection {
                    free.transfers += 1
                    pin.streams.decided()
                    if admission == .one { pin.streams.foundRoom(on: free) }
                } else {
                    if admission == .one { pin.streams.isFull(at: pin.connections.counts.fullest) }
                    if admission == .several { pin.streams.opens(besides: pin.connections) }
                    let connection = table.opened(nextDescriptor, for: pin, inode: UInt64(nextDescriptor))
                    nextDescriptor += 1
                    connection.transfers += 1
                    dialing.append(connection)
                    mostDials = max(mostDials, dialing.count)
                }
            }
            return before - waiting
        }

        /// The connection that is being made stands.
        mutating func connect() {
            guard !dialing.isEmpty else { return }
            let connection = dialing.removeFirst()
            for other in pin.connections.all { settled.insert(ObjectIdentifier(other)) }
            settled.remove(ObjectIdentifier(connection))
            pin.connections.negotiated(.http2, on: connection)
            pin.streams.decided()
        }

        /// The first response begins on a connection, and one ends.
        mutating func respond(_ connection: Connection, ends: Bool) {
            guard connection.version == .http2, connection.transfers > 0 else { return }
            connection.streams.hasSettings = true
            settled.insert(ObjectIdentifier(connection))
            if ends { connection.transfers -= 1 }
        }

        mutating func respond(ends: Bool) {
            if let connection = pin.connections.all.randomElement() { respond(connection, ends: ends) }
        }
    }

    @Test("No request waits forever, and one connection is made at a time", arguments: [100, 128, 250, 2_000])
    func noStall(serverLimit: Int) {
        for _ in 0..<50 {
            var model = Model(requests: 1_000, serverLimit: serverLimit, maximum: 1_000)
            var idleTurns = 0
            while model.waiting > 0 {
                idleTurns = model.turn() > 0 ? 0 : idleTurns + 1
                #expect(idleTurns < 1_000, "\(model.waiting) wait")
                guard idleTurns < 1_000 else { return }
                switch Int.random(in: 0..<4) {
                case 0: model.connect()
                case 1: model.respond(ends: true)
                case 2: model.respond(ends: false)
                default: break
                }
            }
            #expect(model.mostDials == 1)
        }
    }

    @Test("As many connections are made as the limit asks for", arguments: [(100, 10), (128, 9), (250, 5), (2_000, 2)])
    func count(serverLimit: Int, most: Int) {
        var model = Model(requests: 1_000, serverLimit: serverLimit, maximum: 1_000)
        while model.waiting > 0 {
            _ = model.turn()
            model.connect()
            for _ in 0..<model.connections { model.respond(ends: false) }
        }
        #expect(model.carried == 1_000 && model.connections <= most, "\(model.connections)")
    }

    @Test("A connection of HTTP/1.x releases every waiting request")
    func http1() {
        var table = PinTable(maximumPins: 256)
        let pin = table.acquire(
            PinKey(
                host: .name("one.test"),
                port: 443,
                endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 443),
                versions: .automatic
            )
        )
        let connection = table.opened(10, for: pin, inode: 1)
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .one)
        pin.streams.began()
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .none)
        pin.connections.negotiated(.http11, on: connection)
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .several)
    }

    @Test("Refused streams lower the limit, and room that libcurl finds raises it")
    func limit() {
        var table = PinTable(maximumPins: 256)
        let key = PinKey(
            host: .name("one.test"),
            port: 443,
            endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 443),
            versions: .automatic
        )
        let pin = table.acquire(key)
        let connection = table.opened(10, for: pin, inode: 1)
        pin.connections.negotiated(.http2, on: connection)
        connection.transfers = 100
        for _ in 0..<90 {
            connection.refusedStream()
            connection.transfers -= 1
            pin.streams.refused(on: connection)
        }
        #expect(pin.streams.limit == 10)
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .one, "libcurl uses it no more")
        let next = table.opened(11, for: pin, inode: 2)
        pin.connections.negotiated(.http2, on: next)
        next.transfers = 10
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .oneOnNewConnection)
        next.streams.hasSettings = true
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .one)
        next.transfers = 11
        pin.streams.began()
        pin.streams.decided()
        pin.streams.foundRoom(on: next)
        #expect(pin.streams.limit == 11)
        next.transfers = 7
        pin.streams.opens(besides: pin.connections)
        #expect(pin.streams.limit == 7)
        next.transfers = 9
        pin.streams.opens(besides: pin.connections)
        #expect(pin.streams.limit == 7, "some of the nine may have ended")
        next.transfers = 7
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .one)
        next.transfers = 5
        #expect(pin.streams.admission(on: pin.connections, maximum: 1_000) == .several)
        #expect(pin.streams.admission(on: pin.connections, maximum: 5) == .one)
        pin.streams.began()
        #expect(pin.streams.admission(on: pin.connections, maximum: 5) == .none)
    }
}
