// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
public import HTTPTypes

extension HTTPDNSStubs {
    /// A handle of one stub: a condition on requests, and the answers to those that fulfill it.
    ///
    /// ```swift
    /// stubs.on(.head, "https://api.shop.example/v1/items/7")
    ///     .respond(.status(.serviceUnavailable), times: 2)
    ///     .then(.status(.ok))
    /// ```
    ///
    /// Copies are the same stub. Releasing the handle does not remove the stub.
    public struct Stub: Sendable, CustomStringConvertible {
        let layer: StubLayer
        let number: UInt64
        /// The name, or the method and the URL or path, or the condition.
        public let description: String

        /// Appends an answer. Each answer is used in its order; the last one without a number is used for all further requests.
        ///
        /// A stub whose answers are used up answers no more: requests go to older stubs, and then to
        /// ``HTTPDNSStubs/Unmatched``. It has no effect after the removal of the stub.
        /// - Parameters:
        ///   - answer: The answer.
        ///   - times: The number of requests that it is for, at least 0. Nil means one if another answer follows, and all
        ///     further requests otherwise.
        @discardableResult
        public func respond(_ answer: Answer, times: Int? = nil) -> Stub {
            layer.append(answer, times: times, to: number)
            return self
        }

        /// Appends an answer with a value as JSON, see ``HTTPDNSStubs/Answer/json(_:status:headers:)``.
        /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `invalidJSON` for a value that cannot be encoded.
        @discardableResult
        public func respond(
            json value: some Encodable,
            status: HTTPResponse.Status = .ok,
            times: Int? = nil
        ) throws(HTTPDNSStubs.AnswerError) -> Stub {
            respond(try .json(value, status: status), times: times)
        }

        /// Appends an answer to those before, as ``respond(_:times:)`` does.
        @discardableResult
        public func then(_ answer: Answer, times: Int? = nil) -> Stub { respond(answer, times: times) }

        /// Appends a number of requests that the stub leaves to older stubs before its next answer.
        @discardableResult
        public func skip(_ count: Int) -> Stub {
            layer.append(nil, times: count, to: number)
            return self
        }

        /// The number of requests that it has answered so far; 0 after its removal.
        public var uses: Int { layer.entry(number)?.answers.uses ?? 0 }

        /// Removes the stub. A second removal does nothing.
        ///
        /// A request whose answer is not there yet, because it is delayed, fails with
        /// `HTTPDNSClientError.Code.unmatchedRequest`. A response that the caller has already is not changed.
        public func remove() { layer.remove(number) }
    }
}
