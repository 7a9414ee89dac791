// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct ConnectionTests {
    private let key = PinKey(
        host: .name("one.test"),
        port: 443,
        endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 10, 0, 0, 1), port: 443),
        versions: .automatic
    )

    @Test("A connection is found by its descriptor and, inside its pin, by its local port")
    func lookup() {
        var table = PinTable(maximumPins: 256)
        let pin = table.acquire(key)
        let one = table.opened(10, for: pin, inode: 1)
        let two = table.opened(11, for: pin, inode: 2)
        pin.connections.identified(one, at: 40_001)
        pin.connections.identified(two, at: 40_002)
        #expect(table.connection(10) === one && table.connection(12) == nil)
        #expect(pin.connections.connection(at: 40_002) === two)
        table.closed(10)
        #expect(one.descriptor == -1 && one.pin == nil && table.connection(10) == nil)
        #expect(pin.connections.connection(at: 40_001) == nil && pin.connections.all.map(\.descriptor) == [11])
        // The port is given again before the table hears of the next close.
        let three = table.opened(10, for: pin, inode: 3)
        pin.connections.identified(three, at: 40_002)
        table.closed(11)
        #expect(pin.connections.connection(at: 40_002) === three)
        table.closed(10)
        #expect(pin.connections.isEmpty && !table.hasConnections)
    }

    /// The age counts from the connection's opening.
    @Test("A pin is left when its oldest HTTP/2 connection is too old")
    func age() {
        var table = PinTable(maximumPins: 256, maximumAge: .nanoseconds(100))
        let pin = table.acquire(key, at: 0)
        let first = table.opened(10, for: pin, inode: 1, at: 10)
        let second = table.opened(11, for: pin, inode: 2, at: 50)
        pin.connections.negotiated(.http11, on: table.opened(12, for: pin, inode: 3, at: 0))
        pin.connections.negotiated(.http2, on: second)
        #expect(table.acquire(key, at: 149) === pin, "the version of the first is not known")
        pin.connections.negotiated(.http2, on: first)
        #expect(pin.connections.multiplexedSince == 10)
        table.closed(10)
        #expect(table.acquire(key, at: 149) === pin)
        #expect(table.acquire(key, at: 150) !== pin)
    }

    @Test("Certificates of one server share their memory, and go with their connections")
    func chains() {
        var table = PinTable(maximumPins: 256)
        let pin = table.acquire(key)
        let chain = [
            HTTPDNSTransfer.PeerCertificate(pem: "pem", subject: "CN = one.test", issuer: "CN = ca", expires: "never")
        ]
        let one = table.opened(10, for: pin, inode: 1)
        pin.connections.showed(chain, on: one)
        #expect(one.tls.chain == chain)
    }

    // MARK: dead paths

    private let second: Int64 = 1_000_000_000

    /// An acknowledgment in between starts the time again.
    @Test("Bytes sent again in vain are unanswered since they were sent")
    func retransmissions() {
        var table = PinTable(maximumPins: 256)
        let connection = table.opened(10, for: table.acquire(key), inode: 1)
        var state = SendingState(hasUnacknowledged: true, sinceAcknowledgment: 60 * second, sinceTransmission: second)
        connection.path.note(state, sentAt: 100 * second, at: 101 * second)
        #expect(connection.path.unansweredSince == .max, "the first transmission is under way")
        state.retransmissions = 2
        connection.path.note(state, sentAt: 100 * second, at: 102 * second)
        #expect(connection.path.unansweredSince == 100 * second, "before that the connection was idle")
        // Another request on it is sent later; the path is dead for it too.
        state.sinceAcknowledgment = 63 * second
        connection.path.note(state, sentAt: 104 * second, at: 105 * second)
        #expect(connection.path.unansweredSince == 100 * second)
        // An acknowledgment, then silence again.
        state.sinceAcknowledgment = 2 * second
        connection.path.note(state, sentAt: 100 * second, at: 110 * second)
        #expect(connection.path.unansweredSince == 108 * second)
        state.hasUnacknowledged = false
        connection.path.note(state, sentAt: 100 * second, at: 111 * second)
        #expect(connection.path.unansweredSince == .max)
    }

    /// The last acknowledgment does not count.
    @Test("Bytes sent again after a pause are unanswered since the pause")
    func pause() {
        var table = PinTable(maximumPins: 256)
        let connection = table.opened(10, for: table.acquire(key), inode: 1)
        connection.path.note(SendingState(sinceAcknowledgment: 19 * second), sentAt: 0, at: 99 * second)
        let lost = SendingState(hasUnacknowledged: true, retransmissions: 1, sinceAcknowledgment: 20 * second)
        connection.path.note(lost, sentAt: 0, at: 100 * second)
        #expect(connection.path.unansweredSince == 99 * second)
    }

    @Test("Acknowledged probes of a closed window mean a slow peer, others a dead path")
    func probes() {
        var table = PinTable(maximumPins: 256)
        let connection = table.opened(10, for: table.acquire(key), inode: 1)
        var state = SendingState(sinceAcknowledgment: 20 * second, sinceTransmission: 30 * second)
        connection.path.note(state, sentAt: 0, at: 100 * second)
        #expect(connection.path.unansweredSince == .max)
        // One probe may have been sent just now: its time counts from here.
        state.probes = 1
        connection.path.note(state, sentAt: 0, at: 110 * second)
        #expect(connection.path.unansweredSince == 110 * second)
        (state.probes, state.sinceAcknowledgment) = (2, 35 * second)
        connection.path.note(state, sentAt: 0, at: 115 * second)
        #expect(connection.path.unansweredSince == 110 * second)
        // Answered, and the next one is on its way.
        (state.probes, state.sinceAcknowledgment) = (1, 2 * second)
        connection.path.note(state, sentAt: 0, at: 120 * second)
        #expect(connection.path.unansweredSince == 120 * second)
        state.probes = 0
        connection.path.note(state, sentAt: 0, at: 121 * second)
        #expect(connection.path.unansweredSince == .max)
    }

    @Test("A retransmission acknowledged without more room is no sign of a dead path")
    func shrunkWindow() {
        let state = SendingState(
            hasUnacknowledged: true,
            retransmissions: 4,
            sinceAcknowledgment: 2 * second,
            sinceTransmission: 3 * second
        )
        #expect(!state.isUnanswered)
        // The kernel counts no retransmissions while the window is closed.
        let probing = SendingState(
            hasUnacknowledged: true,
            probes: 2,
            sinceAcknowledgment: 3 * second,
            sinceTransmission: 2 * second
        )
        #expect(probing.isUnanswered)
    }
}
