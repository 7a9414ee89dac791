// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCore
import ServerRig

extension HTTPDNSStoredResolution {
    /// An answer about `host`; everything has a value of its own.
    static func sample(
        _ host: String = "img.shop.test",
        families: HTTPDNSAddress.Families = .v4,
        addresses: [HTTPDNSAddress] = [HTTPDNSAddress(v4: 203, 0, 113, 7)],
        receivedAt: Int64 = 1_800_000_000_000,
        timeToLive: Duration = .seconds(60)
    ) throws -> HTTPDNSStoredResolution {
        HTTPDNSStoredResolution(
            host: try HTTPDNSName(host),
            families: families,
            route: "*.shop.test > backup",
            addresses: addresses,
            provider: "backup",
            receivedAt: receivedAt,
            timeToLive: timeToLive
        )
    }

    /// Answers that together use every field in every form.
    static func variety() throws -> [HTTPDNSStoredResolution] {
        var full = try sample("a.b.xn--bcher-kva.test", families: .both, receivedAt: 1_800_000_000_900)
        full.addresses = [
            HTTPDNSAddress(v4: 203, 0, 113, 8), HTTPDNSAddress(bytes: [UInt8](1...16))!, HTTPDNSAddress(v4: 0, 0, 0, 0),
        ]
        full.clientSubnet = HTTPDNSAddressBlock("2001:db8::/33")
        full.providerScope = .loopback
        full.canonicalName = try HTTPDNSName("edge.cdn.test")
        full.route = "b\u{fc}cher \u{1f600}"
        full.timeToLive = .nanoseconds(1_234_567_891)
        var v6 = try sample("_service.shop.test", families: .v6, receivedAt: 1_800_000_000_800)
        v6.addresses = [HTTPDNSAddress(bytes: [UInt8](repeating: 255, count: 16))!]
        v6.clientSubnet = HTTPDNSAddressBlock("0.0.0.0/0")
        v6.providerScope = .public
        v6.route = ""
        v6.provider = ""
        let longest = Array(repeating: String(repeating: "x", count: 62), count: 4).joined(separator: ".") + ".a"
        return [
            full, v6,
            try sample(receivedAt: 1_800_000_000_700),
            try sample(longest, receivedAt: 0, timeToLive: .zero),
            try sample("past.test", receivedAt: .min, timeToLive: .nanoseconds(Int64.min)),
        ]
    }
}

extension TemporaryFolder {
    /// A path for a snapshot in the folder.
    var file: String { path("answers.snapshot") }

    var contents: [UInt8] {
        get throws { [UInt8](try Data(contentsOf: URL(fileURLWithPath: file))) }
    }

    /// Writes a file that only its owner may write.
    func write(_ octets: some Sequence<UInt8>, to name: String = "answers.snapshot") throws {
        try Data(octets).write(to: URL(fileURLWithPath: path(name)))
        guard chmod(path(name), 0o600) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
}
