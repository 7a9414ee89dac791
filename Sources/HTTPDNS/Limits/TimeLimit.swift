// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The time for a call, such as `.seconds(2)`.
    public struct TimeLimit: Hashable, Sendable, CustomStringConvertible {
        private enum Content: Hashable {
            case inherited
            case unlimited
            case duration(Duration)
        }

        private let content: Content

        /// Creates a limit of `duration`. A limit of zero or less has passed before the call begins.
        public init(_ duration: Duration) { content = .duration(duration) }

        private init(content: Content) { self.content = content }

        /// The client's ``HTTPDNSClient/Configuration/Timeouts/responseHead`` and
        /// ``HTTPDNSClient/Configuration/Timeouts/total``. This is the default of a request's options.
        public static let inherited = HTTPDNSClient.TimeLimit(content: .inherited)
        /// No limit for the call as a whole. The limits of its phases still apply.
        public static let unlimited = HTTPDNSClient.TimeLimit(content: .unlimited)

        /// Returns a limit in seconds.
        public static func seconds(_ seconds: some BinaryInteger) -> HTTPDNSClient.TimeLimit {
            HTTPDNSClient.TimeLimit(.seconds(seconds))
        }
        /// Returns a limit in seconds. A number above 10^10, such as infinity, becomes 10^10 (317 years). A negative number, and
        /// one that is no number (NaN), becomes 0.
        public static func seconds(_ seconds: Double) -> HTTPDNSClient.TimeLimit {
            // A `Duration` traps for a number that it cannot hold. Every comparison with NaN is false.
            HTTPDNSClient.TimeLimit(.seconds(seconds > 0 ? min(seconds, 1e10) : 0))
        }
        /// Returns a limit in milliseconds.
        public static func milliseconds(_ milliseconds: some BinaryInteger) -> HTTPDNSClient.TimeLimit {
            HTTPDNSClient.TimeLimit(.milliseconds(milliseconds))
        }

        /// The duration, such as `2.0 seconds`; `inherited` or `unlimited`.
        public var description: String {
            switch content {
            case .inherited: "inherited"
            case .unlimited: "unlimited"
            case .duration(let duration): "\(duration)"
            }
        }

        var isInherited: Bool { content == .inherited }

        /// Returns the limit in force; nil for none.
        func duration(inheriting total: Duration?) -> Duration? {
            switch content {
            case .inherited: total
            case .unlimited: nil
            case .duration(let duration): duration
            }
        }
    }
}

extension HTTPDNSClient {
    /// A limit in bytes, such as `.mebibytes(4)`.
    public struct ByteLimit: Hashable, Sendable, CustomStringConvertible {
        private enum Content: Hashable {
            case inherited
            case unlimited
            case count(HTTPDNSByteCount)
        }

        private let content: Content

        /// Creates a limit of `count`.
        public init(_ count: HTTPDNSByteCount) { content = .count(count) }

        private init(content: Content) { self.content = content }

        /// The limit of the client, the default of a request's options. The settings of a client refuse it with
        /// ``HTTPDNSClientError/Code/configuration``.
        public static let inherited = HTTPDNSClient.ByteLimit(content: .inherited)
        /// No limit.
        public static let unlimited = HTTPDNSClient.ByteLimit(content: .unlimited)

        /// Returns a limit of exactly `bytes`; a negative number becomes 0.
        public static func bytes(_ bytes: Int) -> HTTPDNSClient.ByteLimit { HTTPDNSClient.ByteLimit(.bytes(bytes)) }
        /// Returns a limit of `count` times 1,024 bytes.
        public static func kibibytes(_ count: Int) -> HTTPDNSClient.ByteLimit {
            HTTPDNSClient.ByteLimit(.kibibytes(count))
        }
        /// Returns a limit of `count` times 1,048,576 bytes.
        public static func mebibytes(_ count: Int) -> HTTPDNSClient.ByteLimit {
            HTTPDNSClient.ByteLimit(.mebibytes(count))
        }
        /// Returns a limit of `count` times 1,073,741,824 bytes.
        public static func gibibytes(_ count: Int) -> HTTPDNSClient.ByteLimit {
            HTTPDNSClient.ByteLimit(.gibibytes(count))
        }

        /// The number of bytes and its unit, such as `4 MiB`; `inherited` or `unlimited`.
        public var description: String {
            switch content {
            case .inherited: "inherited"
            case .unlimited: "unlimited"
            case .count(let count): "\(count)"
            }
        }

        var isInherited: Bool { content == .inherited }

        /// The number of bytes; nil for no limit of its own.
        var bytes: Int? { if case .count(let count) = content { count.bytes } else { nil } }
    }
}
