package import HTTPDNSCurl

extension HTTPDNSClient.Response {
    /// What is known once a body ended.
    public struct BodySummary: Hashable, Sendable {
        /// Bytes of the body after decoding.
        public var bodyBytes: Int
        /// Bytes of the body as received, before decoding.
        public var wireBytes: Int
        /// All phases.
        public var timings: HTTPDNSClient.Exchange.Timings

        /// Creates a summary.
        public init(bodyBytes: Int, wireBytes: Int, timings: HTTPDNSClient.Exchange.Timings) {
            self.bodyBytes = bodyBytes
            self.wireBytes = wireBytes
            self.timings = timings
        }
    }
}
