// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The settings of a world's connections, redirects and header fields that no rule depends on, apart from a few named here.
struct Connecting {
    var selection = HTTPDNSClient.Configuration.Connections.Selection.automatic
    var warmsBeforeMoving = false
    var probes = false
    var idleTimeout: Duration = .seconds(60)
    var maximumAge: Duration = .seconds(600)
    var maximumIdle = 1024
    var maximum: Int?
    var queueWait: Duration?
    var firstFamily: HTTPDNSAddress.Family?
    var attemptDelay: Duration = .milliseconds(250)
    var readLimit: Duration = .seconds(30)
    var maximumBody: Int?
    var computesFields = false
    var hasRedirectHook = false
    var redirectLimit = 20
    var http1Only = false

    init() {}

    init(seed: UInt64) {
        var draw = Draw(seed, "connecting")
        selection = draw.happens(80) ? .automatic : draw.pick([.given, .fastest, .roundRobin, .random])
        warmsBeforeMoving = draw.happens(30)
        probes = draw.happens(10)
        idleTimeout = draw.happens(15) ? .seconds(1) : .seconds(60)
        maximumAge = draw.happens(15) ? .seconds(5) : .seconds(600)
        maximumIdle = draw.happens(15) ? 2 : 1024
        maximum = draw.happens(15) ? 3 + draw.below(10) : nil
        queueWait = draw.happens(15) ? .milliseconds(500) : nil
        firstFamily = draw.happens(15) ? .v4 : nil
        attemptDelay = draw.pick([.milliseconds(250), .milliseconds(250), .milliseconds(20)])
        readLimit = draw.happens(20) ? .seconds(1) : .seconds(30)
        maximumBody = draw.happens(20) ? 100_000 : nil
        computesFields = draw.happens(20)
        hasRedirectHook = draw.happens(25)
        redirectLimit = draw.pick([20, 20, 1])
        http1Only = draw.happens(20)
    }

    func apply(to configuration: inout HTTPDNSClient.Configuration) {
        configuration.connections.selection = selection
        if warmsBeforeMoving { configuration.connections.onAddressChange = .warmThenMove }
        if probes {
            var probing = HTTPDNSClient.Configuration.ActiveProbing()
            probing.interval = .seconds(30)
            configuration.connections.probing = probing
        }
        configuration.connections.idleTimeout = idleTimeout
        configuration.connections.maximumAge = maximumAge
        configuration.connections.maximumIdle = maximumIdle
        configuration.connections.maximum = maximum
        configuration.connections.queueWait = queueWait
        configuration.connections.firstFamily = firstFamily
        configuration.connections.happyEyeballsDelay = attemptDelay
        configuration.timeouts.firstByte = readLimit
        configuration.timeouts.idle = readLimit
        if let maximumBody { configuration.maximumResponseBody = .bytes(maximumBody) }
        if computesFields { configuration.computedHeaders = { [.accept: $0.method == .get ? "text/plain" : "*/*"] } }
        if http1Only { configuration.versions = .http1Only }
        configuration.redirects.limit = redirectLimit
        guard hasRedirectHook else { return }
        configuration.redirectHook = { redirect in
            let stage = currentStage
            var draw = Draw(stage.seed, "redirect hook \(redirect.request.url) \(redirect.number)")
            let kind = draw.below(10)
            stage.cover("redirect \(kind == 0 ? "refused" : kind < 3 ? "changed" : "followed") by the hook")
            guard kind > 0 else { return .refuse }
            var next = redirect.next
            next.headerFields[.acceptLanguage] = "en"
            return kind < 3 ? .change(next) : .follow
        }
    }
}

/// A body in a content coding, in blocks that are not compressed.
enum Coding: String, CaseIterable {
    case gzip, deflate, br, zstd, twice = "gzip, gzip", unknown = "x-unknown"

    func encode(_ bytes: [UInt8], isIntact: Bool) -> [UInt8] {
        let length = UInt16(bytes.count)
        let stored = [1] + little(length) + little(~length) + bytes
        switch self {
        case .gzip:
            var sum = UInt32.max
            for byte in bytes {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xedb8_8320 : 0) }
            }
            return [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff] + stored + little(isIntact ? ~sum : sum)
                + little(UInt32(length))
        case .deflate:
            let (a, b) = bytes.reduce((UInt32(1), UInt32(0))) { sums, byte in
                let a = (sums.0 + UInt32(byte)) % 65521
                return (a, (sums.1 + a) % 65521)
            }
            return [0x78, 1] + stored + little((b << 16 | a &+ (isIntact ? 0 : 1)).byteSwapped)
        case .br:
            let head = little(UInt32(bytes.count - 1) << 4 | 1 << 20).prefix(3)
            return head + bytes + [isIntact ? 3 : 0]
        case .zstd:
            let block = little(UInt32(bytes.count) << 3 | (isIntact ? 1 : 7)).prefix(3)
            return [0x28, 0xb5, 0x2f, 0xfd, 0xe0] + little(UInt64(bytes.count)) + block
                + bytes
        case .twice: return Coding.gzip.encode(Coding.gzip.encode(bytes, isIntact: isIntact), isIntact: true)
        case .unknown: return bytes
        }
    }
}

private func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
}
