// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The limits of a connection that its server has announced in `Keep-Alive` fields: `timeout`, the seconds that it may be idle, and
/// `max`, the number of further requests (draft-thomson-hybi-http-timeout). A request that is sent at such a limit meets the
/// server's FIN, and only a safe one may then be sent again.
struct AnnouncedKeepAlive: Equatable {
    /// The part of the timeout that is left unused beside a round trip: servers close up to 100 ms earlier (Apache), and both sides
    /// may be busy.
    static let margin: Int64 = 250_000_000

    /// The idle time in nanoseconds; `nil` when none was announced.
    private var timeout: Int64?
    /// The number of further requests; `nil` when none was announced.
    private var requests: Int?
    /// The shortest time between a request and the first byte of its response, at least a round trip.
    private var roundTrip = Int64.max

    /// Whether the server has announced a limit.
    var isAnnounced: Bool { timeout != nil || requests != nil }

    /// Reads a line of a response head.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        guard let value = line.value(of: "keep-alive:") else { return }
        for member in value.split(separator: UInt8(ascii: ",")) {
            let parts = member.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let number = AnnouncedKeepAlive.number(parts[1]) else { continue }
            let name = parts[0].filter { $0 > UInt8(ascii: " ") }.map { $0 | 0x20 }
            if name.elementsEqual("timeout".utf8) {
                timeout = number.multipliedReportingOverflow(by: 1_000_000_000).overflow ? nil : number * 1_000_000_000
            } else if name.elementsEqual("max".utf8) {
                requests = Int(number)
            }
        }
    }

    /// Returns a decimal number, possibly quoted, of at most 18 digits; `nil` for anything else, which is ignored.
    private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let digits = text.filter { $0 > UInt8(ascii: " ") && $0 != UInt8(ascii: "\"") }
        let decimals = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard 1...18 ~= digits.count, digits.allSatisfy({ decimals ~= $0 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// Notes that a response has ended.
    /// - Parameters:
    ///   - announced: The limits in its head. Those that it does not repeat still apply.
    ///   - roundTrip: The time between its request and its first byte.
    mutating func note(_ announced: AnnouncedKeepAlive, roundTrip: Int64) {
        timeout = announced.timeout ?? timeout
        requests = announced.requests ?? requests.map { $0 - 1 }
        self.roundTrip = min(self.roundTrip, max(0, roundTrip))
    }

    /// Returns the time from which on the connection takes no other request; `Int64.max` without a limit. A request needs half a round
    /// trip, and the server has counted since half a round trip. At least half of the timeout is used.
    /// - Parameter idleSince: The time at which the server may have finished its response, as seen here.
    func end(idleSince: Int64) -> Int64 {
        if let requests, requests <= 0 { return .min }
        guard let timeout else { return .max }
        let (sum, overflow) = roundTrip.addingReportingOverflow(AnnouncedKeepAlive.margin)
        let unused = overflow ? timeout / 2 : min(sum, timeout / 2)
        let (end, isEndless) = idleSince.addingReportingOverflow(timeout - unused)
        return isEndless ? .max : end
    }
}
