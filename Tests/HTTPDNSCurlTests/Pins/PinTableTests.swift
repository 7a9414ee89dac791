// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct PinTableTests {
    private func key(_ number: Int, port: UInt16 = 443) -> PinKey {
        let address = HTTPDNSAddress(v4: 10, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255))
        return PinKey(
            host: .name("one.test"),
            port: port,
            endpoint: HTTPDNSEndpoint(address: address, port: port),
            versions: .automatic
        )
    }

    @Test("One key keeps its pin, and another address never gets the same name")
    func identity() {
        var table = PinTable(maximumPins: 1_024)
        let first = table.acquire(key(1))
        let again = table.acquire(key(1))
        #expect(again === first)
        let other = table.acquire(key(2))
        #expect(other.name != first.name)
        #expect(table.count == 2)
    }

    // libcurl 8 may resume a TLS session of a client that had shown its certificate for one that had not.
    @Test("Requests without the client's certificate share nothing with those that show it")
    func certificates() throws {
        let mailbox = LoopMailbox(TransportConfiguration())
        let keys = try [false, true].map { withholds in
            var request = TransferRequest(url: try ParsedURL("https://one.test/"), endpoints: [key(1).endpoint])
            request.withholdsCertificate = withholds
            let transfer = Transfer(request, mailbox: mailbox)
            return [true, false].map { PinKey(of: transfer, key(1).endpoint, hasCertificate: $0) }
        }
        #expect(keys[0][0] != keys[1][0])
        // Without a certificate there is nothing to withhold.
        #expect(keys[0][1] == keys[1][1])
    }

    @Test("Endpoints where HTTPS records offer other versions have pins of their own")
    func offers() throws {
        let mailbox = LoopMailbox(TransportConfiguration())
        let endpoints = [key(1).endpoint, key(2).endpoint]
        var request = TransferRequest(url: try ParsedURL("https://one.test/"), endpoints: endpoints)
        let plain = PinKey(of: Transfer(request, mailbox: mailbox), endpoints[0], hasCertificate: false)
        request.offers = [endpoints[0]: OfferedVersions(applicationProtocols: ["http/1.1"])]
        let keys = endpoints.map { PinKey(of: Transfer(request, mailbox: mailbox), $0, hasCertificate: false) }
        #expect(keys.map(\.versions) == [.http1Only, .automatic] && keys[0] != plain)
        // A request that allows HTTP/1.1 alone may share the connection.
        request.offers = nil
        request.versions = .http1Only
        #expect(PinKey(of: Transfer(request, mailbox: mailbox), endpoints[0], hasCertificate: false) == keys[0])
    }

    @Test("The lists have the form that libcurl's options take")
    func lists() throws {
        let pin = Pin(
            PinKey(
                host: .address(HTTPDNSAddress("::1")!),
                port: 443,
                endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress("2001:db8::7")!, port: 8443),
                versions: .automatic
            ),
            slot: 0,
            number: 7
        )
        let connectTo = try #require(pin.connectTo)
        let resolve = try #require(pin.resolve)
        #expect(String(cString: connectTo.pointee.data) == "[::1]:443:p7.invalid:8443")
        #expect(String(cString: resolve.pointee.data) == "+p7.invalid:8443:[2001:db8::7]")
        #expect(pin.removals[0] == "-p7.invalid:8443")
    }

    /// Every entry taken out is announced once.
    @Test("The table of libcurl stays small however many pins are used")
    func boundedEntries() {
        var table = PinTable(maximumPins: 2_000)
        var entries: Set<String> = []
        for number in 0..<20_000 {
            let pin = table.acquire(key(number))
            for removal in table.takeRemovals() {
                let removed = entries.remove(removal)
                #expect(removed != nil)
            }
            entries.insert(pin.removals[0])
            table.release(pin)
        }
        #expect(table.entryCount == PinTable.maximumEntries)
        #expect(table.count == 2_000)
        #expect(entries.count == PinTable.maximumEntries)
    }

    @Test("A name is given to another address only after its last connection is closed")
    func namesOfOpenConnections() {
        var table = PinTable(maximumPins: 256)
        let first = table.acquire(key(0))
        table.opened(10, for: first, inode: 1)
        table.opened(11, for: first, inode: 1)
        table.release(first)
        var names = Set((1..<1_000).map { number in name(in: &table, number) })
        #expect(!names.contains(first.name))
        table.closed(10)
        names = Set((1_000..<2_000).map { number in name(in: &table, number) })
        #expect(!names.contains(first.name))
        table.closed(11)
        names = Set((2_000..<3_000).map { number in name(in: &table, number) })
        #expect(names.contains(first.name))
    }

    @Test("A pin that is still in the table keeps its name when its connections are closed")
    func nameOutlivesConnections() {
        var table = PinTable(maximumPins: 256)
        let first = table.acquire(key(0))
        table.opened(10, for: first, inode: 1)
        table.release(first)
        table.closed(10)
        let other = table.acquire(key(1))
        #expect(other.name != first.name)
        let again = table.acquire(key(0))
        #expect(again === first)
    }

    @Test("At no time do two pins with connections or in the table have one name")
    func namesAreUnique() {
        var table = PinTable(maximumPins: 256)
        var pool: [(descriptor: Int32, pin: Pin)] = []
        var names: Set<String> = []
        for number in 0..<20_000 {
            let pin = table.acquire(key(number))
            let holders = pool.filter { $0.pin.name == pin.name }
            #expect(holders.isEmpty)
            names.insert(pin.name)
            table.opened(Int32(number), for: pin, inode: 1)
            pool.append((Int32(number), pin))
            table.release(pin)
            // A pool of 300 closes connections in no particular order.
            if pool.count > 300 {
                table.closed(pool.remove(at: Int.random(in: 0..<pool.count)).descriptor)
            }
        }
        #expect(names.count <= 256 + 300 + 1)
    }

    private func name(in table: inout PinTable, _ number: Int) -> String {
        let pin = table.acquire(key(number))
        table.release(pin)
        return pin.name
    }

    @Test("An entry that a transfer in flight may still look up is not taken out")
    func entriesInFlight() {
        var table = PinTable(maximumPins: 256)
        let held = table.acquire(key(0))
        var removed: [String] = []
        for number in 1..<2_000 {
            table.release(table.acquire(key(number)))
            removed += table.takeRemovals()
        }
        #expect(!removed.contains(held.removals[0]))
        table.release(held)
        for number in 2_000..<3_000 {
            table.release(table.acquire(key(number)))
            removed += table.takeRemovals()
        }
        #expect(removed.contains(held.removals[0]))
    }

    @Test("Pins that are in flight all the time do not let the tables grow without bound")
    func manyInFlight() {
        var table = PinTable(maximumPins: 256)
        let held = (0..<400).map { table.acquire(key($0)) }
        for number in 400..<40_000 { table.release(table.acquire(key(number))) }
        #expect(table.entryCount <= 2 * held.count + 2)
        #expect(table.count <= 2 * held.count + 2)
        for pin in held { table.release(pin) }
        for number in 40_000..<42_000 { table.release(table.acquire(key(number))) }
        #expect(table.entryCount == PinTable.maximumEntries && table.count == 256)
    }

    /// The name finds its idle connections again.
    @Test("A pin whose entry was taken out keeps its name")
    func nameOutlivesEntry() {
        var table = PinTable(maximumPins: 2_000)
        let first = table.acquire(key(0))
        table.release(first)
        for number in 1..<1_000 { table.release(table.acquire(key(number))) }
        let removals = table.takeRemovals()
        #expect(removals.contains(first.removals[0]))
        let again = table.acquire(key(0))
        #expect(again === first)
    }

    @Test("Removals of a transfer that never began are carried by the next one")
    func restoredRemovals() {
        var table = PinTable(maximumPins: 256)
        for number in 0..<300 { table.release(table.acquire(key(number))) }
        let removals = table.takeRemovals()
        #expect(!removals.isEmpty)
        let second = table.takeRemovals()
        #expect(second.isEmpty)
        table.restoreRemovals(removals)
        let third = table.takeRemovals()
        #expect(third == removals)
    }
}

struct RecencyOrderTests {
    @Test("The oldest entry is the one not touched for the longest time")
    func order() {
        var order = RecencyOrder()
        for slot in [3, 1, 2, 3] { order.touch(slot) }
        #expect(order.oldest == 1)
        order.remove(1)
        #expect(order.oldest == 2)
        order.remove(2)
        order.remove(2)
        #expect(order.oldest == 3)
        order.remove(3)
        #expect(order.oldest == nil)
        #expect(order.count == 0)
    }

    @Test("The order agrees with a plain list under random use")
    func model() {
        var order = RecencyOrder()
        var list: [Int] = []
        for _ in 0..<5_000 {
            let slot = Int.random(in: 0..<20)
            list.removeAll { $0 == slot }
            if Bool.random() {
                order.touch(slot)
                list.append(slot)
            } else {
                order.remove(slot)
            }
            #expect(order.oldest == list.first)
            #expect(order.count == list.count)
            #expect(order.contains(slot) == list.contains(slot))
        }
    }
}
