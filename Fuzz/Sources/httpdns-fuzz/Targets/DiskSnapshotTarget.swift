// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSPrimitives

extension FuzzTarget {
    /// Snapshots of answers. The checksum would end nearly every input, so each is also tried with one that fits.
    static let diskSnapshot = FuzzTarget(name: "disk-snapshot") { octets in
        check(octets)
        if octets.count >= SnapshotFormat.headerOctets { check(withFittingHeader(octets)) }
    }

    private static func check(_ octets: [UInt8]) {
        let resolutions: [HTTPDNSStoredResolution]
        do throws(HTTPDNSResolutionStoreError) {
            resolutions = try SnapshotFile(path: "f").decode(octets)
        } catch {
            precondition(!error.message.utf8.contains { $0 < 0x20 || $0 > 0x7e }, "an error is one line of ASCII")
            return
        }
        precondition(resolutions.count * SnapshotFormat.minimumEntryOctets <= octets.count)
        for resolution in resolutions {
            precondition(!resolution.addresses.isEmpty)
            precondition(resolution.addresses.allSatisfy { resolution.families.contains($0.family) })
            precondition((try? HTTPDNSName(resolution.host.description)) == resolution.host)
            for wallNow in [0, resolution.receivedAt, .min, .max] { checkLife(of: resolution, wallNow: wallNow) }
        }
        // What was read is written as it was, and one changed bit makes it nothing.
        var again = SnapshotEncoder.encode(resolutions, maximumBytes: .max)
        precondition(again == octets, "there is one spelling of everything")
        again[octets.count / 2] ^= 1 << (octets.count % 8)
        precondition((try? SnapshotDecoder.decode(again)) == nil)
        precondition((try? SnapshotDecoder.decode(octets + [0])) == nil)
        precondition((try? SnapshotDecoder.decode(octets.dropLast())) == nil)
        precondition(HTTPDNSStoredResolution.freshest(of: resolutions, limit: 3).count <= min(3, resolutions.count))
    }

    private static func checkLife(of resolution: HTTPDNSStoredResolution, wallNow: Int64) {
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        let limit = Duration.seconds(3600)
        let life = resolution.restored(
            wallNow: wallNow,
            monotonicNow: now,
            staleLimit: limit,
            maximumTimeToLive: limit
        )
        guard let life else { return }
        precondition(life.sentAt <= now && life.sentAt <= life.expiresAt)
        // Operators of the package are not visible here.
        let (left, most) = (life.expiresAt.nanoseconds - now.nanoseconds, limit.components.seconds * 1_000_000_000)
        precondition(left <= most && left > -most)
    }

    private static func withFittingHeader(_ octets: [UInt8]) -> [UInt8] {
        var file = octets
        func put(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value.bigEndian) { file.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        file.replaceSubrange(0..<SnapshotFormat.magic.count, with: SnapshotFormat.magic)
        put(SnapshotFormat.version, at: SnapshotFormat.magic.count)
        put(UInt64(file.count - SnapshotFormat.headerOctets), at: SnapshotFormat.magic.count + 8)
        put(SnapshotFormat.checksum(of: file), at: SnapshotFormat.checksumOffset)
        return file
    }
}
