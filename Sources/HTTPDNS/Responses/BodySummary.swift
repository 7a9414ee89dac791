package import HTTPDNSCurl

extension HTTPDNSClient.Response {
    /// A summary of a body that has ended.
    public struct BodySummary: Hashable, Sendable {
        /// The bytes of the body after decoding.
        public var bodyBytes: Int
        /// The bytes of the body as received, before decoding.
        public var wireBytes: Int
        /// The durations of all phases.
        public var timings: HTTPDNSClient.Exchange.Timings

        /// Creates a summary.
        public init(bodyBytes: Int, wireBytes: Int, timings: HTTPDNSClient.Exchange.Timings) {
            self.bodyBytes = bodyBytes
            self.wireBytes = wireBytes
            self.timings = timings
        }
    }
}
