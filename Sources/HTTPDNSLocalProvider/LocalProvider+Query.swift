#if LocalProvider
extension LocalProvider {
    /// A query whose answer is ready, for logs and tests. It contains no secret, signature or cipher text.
    public struct Query: Hashable, Sendable {
        /// The arrival time, in milliseconds since 1970-01-01 00:00 UTC.
        public internal(set) var milliseconds: Int64
        /// The protocol: `doh`, `json-google`, `json-cloudflare`, `json-alidns`, `alibaba-v2`, `alibaba-v1`, `alibaba-ss`,
        /// `tencent`, `tencent-conf`; `-` for a path of no protocol.
        public internal(set) var protocolName = "-"
        /// The queried names; empty when the query was refused before they were read.
        public internal(set) var hosts: [String] = []
        /// The families, `v4`, `v6` or `v4,v6`; with `doh` and JSON DNS the record type.
        public internal(set) var families = "-"
        /// The source address of the query.
        public internal(set) var client: String?
        /// Whether it had a signature or a token.
        public internal(set) var isSigned = false
        /// The cipher, `cbc` or `gcm`; nil for clear text.
        public internal(set) var encryption: String?
        /// The HTTP status of the reply.
        public internal(set) var status = 200
        /// The outcome: `ok`, the vendor's error code, or the failure that the file injects, such as `status-503` or
        /// `garbage-html`.
        ///
        /// `ContentTooLarge` means a body that is longer than 65,535 bytes, or incomplete.
        public internal(set) var outcome = "ok"
        /// The expected form, for a query that was refused.
        public internal(set) var advice: String?
        /// The number of addresses in the answer.
        public internal(set) var addressCount = 0
        /// The delay from the file, which begins after this report.
        public internal(set) var delay: Duration?

        init(milliseconds: Int64, client: String?) {
            self.milliseconds = milliseconds
            self.client = client
        }
    }
}
#endif
