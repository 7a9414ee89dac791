// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A number of bytes for limits: `.mebibytes(4)`.
public struct HTTPDNSByteCount: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of bytes, never negative.
    public let bytes: Int

    /// Returns a count of exactly `bytes`; a negative number becomes 0.
    public static func bytes(_ bytes: Int) -> HTTPDNSByteCount { HTTPDNSByteCount(clamping: bytes, times: 1) }
    /// Returns a count of `count` times 1,024 bytes.
    public static func kibibytes(_ count: Int) -> HTTPDNSByteCount { HTTPDNSByteCount(clamping: count, times: 1 << 10) }
    /// Returns a count of `count` times 1,048,576 bytes.
    public static func mebibytes(_ count: Int) -> HTTPDNSByteCount { HTTPDNSByteCount(clamping: count, times: 1 << 20) }
    /// Returns a count of `count` times 1,073,741,824 bytes.
    public static func gibibytes(_ count: Int) -> HTTPDNSByteCount { HTTPDNSByteCount(clamping: count, times: 1 << 30) }

    private init(clamping count: Int, times unit: Int) {
        let (product, overflow) = max(0, count).multipliedReportingOverflow(by: unit)
        bytes = overflow ? .max : product
    }

    /// Returns whether the left count is smaller.
    public static func < (left: HTTPDNSByteCount, right: HTTPDNSByteCount) -> Bool { left.bytes < right.bytes }

    /// The number of bytes and its unit, such as `4 MiB` or `1000 B`.
    public var description: String {
        for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        where bytes >= unit && bytes % unit == 0 {
            return "\(bytes / unit) \(name)"
        }
        return "\(bytes) B"
    }
}
