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
        /// Returns a limit in seconds.
        public static func seconds(_ seconds: Double) -> HTTPDNSClient.TimeLimit {
            HTTPDNSClient.TimeLimit(.seconds(seconds))
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
