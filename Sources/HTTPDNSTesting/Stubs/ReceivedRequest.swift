// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
public import HTTPDNSPrimitives

extension HTTPDNSStubs {
    /// A record of one request that arrived at the stubs: one hop of a call.
    public struct ReceivedRequest: Sendable, HTTPDNSRedacted {
        /// The treatment of a request.
        public struct Outcome: Hashable, Sendable, CustomStringConvertible {
            /// A short text: `answered`, `failed`, `sent` or `custom`.
            public let description: String

            /// A stub answered.
            public static let answered = Outcome(description: "answered")
            /// No stub answered, and the call failed (``HTTPDNSStubs/Unmatched/fail``).
            public static let failed = Outcome(description: "failed")
            /// No stub answered, and the request was sent, see ``HTTPDNSStubs/Unmatched`` and the list of allowed hosts.
            public static let sent = Outcome(description: "sent")
            /// No stub answered, but the closure of ``HTTPDNSStubs/Unmatched/custom(_:)``.
            public static let custom = Outcome(description: "custom")
        }

        /// The method.
        public let method: HTTPRequest.Method
        /// The URL as the last interceptor passed it on.
        public let url: String
        /// The header fields, with those that the client adds: defaults, cookies, credentials, and the `Content-Type` of the
        /// body. Those that describe the connection or the length are not included.
        public let headerFields: HTTPFields
        /// The first bytes of the body before compression, up to the limit of the set.
        public let body: [UInt8]
        /// Whether the body is longer than ``body``.
        public let isBodyTruncated: Bool
        /// The number of the hop in its call, from 0.
        public let hop: Int
        /// The stub that answered; nil for none.
        public let stub: Stub?
        /// The treatment of the request.
        public let outcome: Outcome

        let urlForErrors: String

        /// The method, the URL without the values of its query, and the stub or the treatment.
        public var description: String {
            "\(method.rawValue) \(urlForErrors): \(stub.map { "answered by \($0)" } ?? outcome.description)"
        }
    }

    /// The requests that arrived in the present scope, in the order of their arrival: the last 9,000 to 10,000 of them,
    /// and fewer when their bodies have more than 64 MiB.
    public var requests: [ReceivedRequest] { layer.requests }
}

extension HTTPDNSStubs {
    /// An answer that was used less often than the test expects.
    public struct PendingAnswer: Sendable, CustomStringConvertible {
        /// The stub.
        public let stub: Stub
        /// The text of the answer, such as `201`.
        public let answer: String
        /// The place of the answer among those of its stub, from 1.
        public let position: Int
        /// The number of requests that used it.
        public let uses: Int
        /// The number of requests that it is for; 1 for an answer to all further requests.
        public let expectedUses: Int

        /// The text for errors, such as `POST /v1/charge (answer 2, 201, used 0 of 1 times)`.
        public var description: String {
            "\(stub) (answer \(position), \(answer), used \(uses) of \(expectedUses) times)"
        }
    }

    /// The answers of the present scope that were used less often than the test expects: each at least once, or as often as
    /// its `times`. The oldest stub is first.
    public var pending: [PendingAnswer] {
        let layer = layer
        return layer.entries.reversed().flatMap { entry in
            entry.answers.pending.map { step in
                PendingAnswer(
                    stub: Stub(layer: layer, number: entry.number, description: entry.label),
                    answer: step.answer,
                    position: step.position,
                    uses: step.used,
                    expectedUses: step.times
                )
            }
        }
    }

    /// Checks that all answers of the present scope were used, and that no request failed because no stub answered it.
    ///
    /// The second part finds requests whose errors the tested code has caught. Stubs of outer scopes and removed stubs are not
    /// checked.
    /// - Throws: ``VerificationError``.
    public func verify() throws(VerificationError) {
        let error = VerificationError(pending: pending, unmatched: requests.filter { $0.outcome == .failed })
        if !error.pending.isEmpty || !error.unmatched.isEmpty { throw error }
    }

    /// The error of ``HTTPDNSStubs/verify()``.
    public struct VerificationError: Error, Sendable, CustomStringConvertible {
        /// The answers that were used less often than the test expects.
        public let pending: [PendingAnswer]
        /// The requests that no stub answered, and that failed therefore.
        public let unmatched: [ReceivedRequest]

        /// The answers and requests, on one line.
        public var description: String {
            var parts: [String] = []
            if !pending.isEmpty {
                parts.append("stubs were not used as expected: " + pending.map(\.description).joined(separator: ", "))
            }
            if !unmatched.isEmpty {
                let requests = unmatched.map { "\($0.method.rawValue) \($0.urlForErrors)" }
                parts.append("no stub answered: " + requests.joined(separator: ", "))
            }
            return parts.joined(separator: "; ")
        }
    }
}
