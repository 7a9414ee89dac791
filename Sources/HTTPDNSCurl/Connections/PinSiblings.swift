// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The pins of one key that has many connections over HTTP/1.x. A transfer gets a name that has a free connection, if there is
/// one. Loop thread only.
///
/// libcurl quirk: The connections of a name are walked (7.88.1). libcurl looks for a free connection from the oldest one on
/// (`ConnectionExists`). Beyond 64 connections a key has several pins. One that allows HTTP/2, or has a proxy or a Unix socket,
/// has one. Tests: PinSiblingsTests, SystemCallTests.
final class PinSiblings {
    /// The number of connections of one name at which another connection gets another name.
    static let maximumConnections = 64

    /// The pins; the first one is that of the table.
    private(set) var all: [Pin]
    /// Pins that may have a free connection, the last used one at the end. A pin that certainly has one is among them.
    private var free: [Pin] = []

    init(_ first: Pin) {
        all = [first]
        first.siblings = self
    }

    /// Adds a pin without connections.
    func append(_ pin: Pin) {
        pin.siblings = self
        all.append(pin)
    }

    /// Removes a pin other than the first one.
    func remove(_ pin: Pin) {
        all.removeAll { $0 === pin }
        free.removeAll { $0 === pin }
        pin.isListedFree = false
        pin.siblings = nil
        if all.count == 1 { end() }
    }

    /// Notes that a transfer has left one of the pins.
    func left(_ pin: Pin) {
        guard pin.hasFreeConnection, !pin.isListedFree else { return }
        pin.isListedFree = true
        free.append(pin)
    }

    /// Returns a pin with a free connection, or else one that may have another connection; `nil` when there is none.
    func next() -> Pin? {
        while let pin = free.last {
            if pin.hasFreeConnection { return pin }
            free.removeLast()
            pin.isListedFree = false
        }
        return all.last { $0.hasRoom }
    }

    /// Ends the set: none of the pins has siblings any more.
    /// - Returns: The pins.
    @discardableResult
    func end() -> [Pin] {
        let pins = all
        for pin in pins {
            pin.siblings = nil
            pin.isListedFree = false
        }
        all = []
        free = []
        return pins
    }
}

extension Pin {
    /// Whether a connection over HTTP/1.x is open that no transfer uses. Each transfer uses one, or is about to.
    var hasFreeConnection: Bool { transfersInFlight < connections.all.count }

    /// Whether the name may have another connection over HTTP/1.x.
    var hasRoom: Bool { max(transfersInFlight, connections.all.count) < PinSiblings.maximumConnections }

    /// Whether the key may have several names for transfers of a scheme: they connect directly, and never over HTTP/2, whose
    /// streams share a connection.
    func mayHaveSiblings(for scheme: ParsedURL.Scheme) -> Bool {
        key.egressPath == nil && allowsOnlyHTTP1(for: scheme)
    }

    /// Returns whether bytes of a response have arrived from the endpoint since a time, under any of its names.
    func wasHeard(since time: Int64) -> Bool {
        siblings?.all.contains { $0.heardAt >= time } ?? (heardAt >= time)
    }
}
