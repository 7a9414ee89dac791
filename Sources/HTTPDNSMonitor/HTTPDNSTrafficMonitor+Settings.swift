// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSTrafficMonitor {
    /// The settings of a monitor.
    public struct Settings: Sendable {
        /// The condition on the calls that are counted and recorded. It is checked with the caller's request, and its head must
        /// decide: a condition on a body or by a closure is refused.
        public var includes = HTTPDNSClient.RequestPredicate.all
        /// The condition on the calls that are neither counted nor recorded; nil for none. It wins over ``includes``.
        public var excludes: HTTPDNSClient.RequestPredicate?
        /// The share of the calls that are recorded. Counters count all calls.
        public var sampling = Sampling.all
        /// The secrets that are replaced in records, see ``HTTPDNSTrafficMonitor``.
        public var redaction = HTTPDNSClient.Redaction.standard
        /// The condition on calls whose bodies are not stored; nil for none. The head of the caller's request must decide.
        public var withholdsBodies: HTTPDNSClient.RequestPredicate?
        /// A function that changes a record before it is stored, written or exported, and returns whether it is kept; nil, the
        /// default, for none. The record has been redacted.
        ///
        /// It is called once for each record, in the task that ends the call, before that task gets the end of the body. It must
        /// not block. The counters count the call in any case.
        public var edit: (@Sendable (_ record: inout Record) -> Bool)?
        /// The most bytes of a request body that are stored. Zero, the default, stores no request body.
        ///
        /// Bodies in memory are stored. A body from a file or a stream is not.
        public var requestBodyLimit = HTTPDNSByteCount.bytes(0)
        /// The most bytes of a response body that are stored, as the caller reads it. Zero, the default, stores no response body.
        public var responseBodyLimit = HTTPDNSByteCount.bytes(0)
        /// The most records in memory. The oldest ones are removed first.
        public var maximumRecords = 1000
        /// The most bytes of all records in memory, estimated. The oldest ones are removed first.
        public var maximumBytes = HTTPDNSByteCount.mebibytes(16)
        /// The time after which a record is removed from memory.
        public var maximumAge = Duration.seconds(3600)
        /// The files that records are also written to; nil, the default, for none.
        public var files: FileStore?
        /// The exporter that records are also given to; nil, the default, for none.
        public var exporter: Exporter?
        /// The most hosts, and the most routes, with counters of their own. All others are counted together.
        public var maximumHosts = 256

        /// Creates the defaults: all calls, without bodies.
        public init() {}

        func check() throws(HTTPDNSClientError) {
            for condition in [includes, excludes, withholdsBodies].compactMap(\.self) {
                guard condition.readsHeadOnly else {
                    throw Self.refusal(
                        "the condition \"\(condition.description)\" of a traffic monitor needs a body or a closure",
                        hint: "use conditions on method, URL and header fields"
                    )
                }
            }
            guard (0...1).contains(sampling.share) else {
                throw Self.refusal(
                    "the share \(sampling.share) of recorded calls is not between 0 and 1",
                    hint: "0.1 records 10 % of the calls"
                )
            }
        }

        private static func refusal(_ message: String, hint: String) -> HTTPDNSClientError {
            HTTPDNSClientError(code: .configuration, phase: .configuration, message: message, hint: hint)
        }
    }

    /// The choice of the calls that are recorded.
    public struct Sampling: Hashable, Sendable {
        /// The share of the calls that are recorded, from 0 to 1.
        public var share: Double
        /// The seed of the choice: the same seed chooses the same calls, by the order in which they end.
        public var seed: UInt64
        /// Whether failed calls, and calls with a 4xx or 5xx response, are recorded in any case.
        public var keepsErrors: Bool

        /// Records all calls.
        public static let all = Sampling(share: 1)

        /// Creates a choice.
        public init(share: Double, seed: UInt64 = 0, keepsErrors: Bool = true) {
            self.share = share
            self.seed = seed
            self.keepsErrors = keepsErrors
        }

        /// Returns whether a call is recorded.
        /// - Parameter number: The number of the call among those that the monitor has seen.
        func includes(_ call: HTTPDNSClient.CallRecord, number: UInt64) -> Bool {
            if keepsErrors, call.outcome == .failed || (call.status?.code ?? 0) >= 400 { return true }
            // The 53 bits that a Double has: a share of 1 includes every number.
            return Double(Self.mixed(seed &+ number &* 0x9E37_79B9_7F4A_7C15) >> 11) < share * 0x1p53
        }

        /// Returns evenly distributed bits (SplitMix64).
        private static func mixed(_ value: UInt64) -> UInt64 {
            var bits = value &+ 0x9E37_79B9_7F4A_7C15
            bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            return bits ^ (bits >> 31)
        }
    }
}
