#if LocalProvider
extension LocalProvider {
    /// A query whose answer is ready, for logs and tests. It has no secret, signature or cipher text in it.
    public struct Query: Hashable, Sendable {
        /// When it came, in milliseconds since 1970-01-01 00:00 UTC.
        public internal(set) var milliseconds: Int64
        /// The protocol: `doh`, `json-google`, `json-cloudflare`, `json-alidns`, `alibaba-v2`, `alibaba-v1`, `alibaba-ss`,
        /// `tencent`, `tencent-conf`; `-` for a path that none has.
        public internal(set) var protocolName = "-"
        /// The names that were asked about; empty when the query was refused before they were read.
        public internal(set) var hosts: [String] = []
        /// The families, `v4`, `v6` or `v4,v6`; with `doh` and JSON DNS the record type.
        public internal(set) var families = "-"
        /// The address that it came from.
        public internal(set) var client: String?
        /// Whether it had a signature or a token.
        public internal(set) var isSigned = false
        /// The cipher, `cbc` or `gcm`; nil in clear.
        public internal(set) var encryption: String?
        /// The HTTP status of the reply.
        public internal(set) var status = 200
        /// `ok`, the vendor's word for what was wrong, or what the file has gone wrong: `status-503`, `garbage-html`.
        /// `ContentTooLarge` for a body that is longer than 65,535 octets, or broke off.
        public internal(set) var outcome = "ok"
        /// What was expected, of a query that was refused.
        public internal(set) var advice: String?
        /// How many addresses the answer has.
        public internal(set) var addressCount = 0
        /// How long the file has the answer held back, after this is told.
        public internal(set) var delay: Duration?

        init(milliseconds: Int64, client: String?) {
            self.milliseconds = milliseconds
            self.client = client
        }
    }
}
#endif
