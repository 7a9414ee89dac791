// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Sends a request and reports its result to a callback, for code that is not async.
    ///
    /// ```swift
    /// let call = client.execute(HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg")) { result in
    ///     guard let response = try? result.get() else { return }
    ///     show(response.body)
    /// }
    /// ```
    ///
    /// The callback is called exactly once, also after ``HTTPDNSClient/PendingCall/cancel()`` and after
    /// ``shutdown(drainingFor:)``, and never on the loop thread.
    ///
    /// Without `deliver` all callbacks of the client run one after another on a thread of the client, in the order in
    /// which the calls end. A callback may block there, also in ``executeAndWait(_:upTo:)``, and delays only other
    /// callbacks.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The longest body; a longer one fails with ``HTTPDNSClientError/Code/responseTooLarge``.
    ///   - deliver: A closure that schedules the callback, such as `{ queue.async(execute: $0) }`. It must run its
    ///     argument once.
    ///   - completion: Receives the response with its body, or ``HTTPDNSClientError`` or `CancellationError`.
    /// - Returns: The call, which can be canceled. It continues when it is released.
    @discardableResult
    public func execute(
        _ request: HTTPDNSClient.Request,
        upTo limit: HTTPDNSByteCount = .mebibytes(16),
        deliver: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPDNSClient.Response.Collected, any Error>) -> Void
    ) -> HTTPDNSClient.PendingCall {
        HTTPDNSClient.PendingCall(
            Task { [self] in
                let result = await Self.result(upTo: limit) { try await execute(request) }
                if let deliver {
                    deliver { completion(result) }
                } else {
                    threads.callbacks.run { completion(result) }
                }
            }
        )
    }

    static func result(
        upTo limit: HTTPDNSByteCount,
        of call: () async throws -> HTTPDNSClient.Response
    ) async -> Result<HTTPDNSClient.Response.Collected, any Error> {
        do {
            return .success(try await HTTPDNSClient.Response.Collected(call(), upTo: limit))
        } catch {
            return .failure(error)
        }
    }
}

extension HTTPDNSClient {
    /// A call that reports its result to a callback.
    public struct PendingCall: Sendable {
        private let task: Task<Void, Never>

        init(_ task: Task<Void, Never>) { self.task = task }

        /// Cancels the call. Its callback gets `CancellationError`, or the result if that came first.
        public func cancel() { task.cancel() }
    }
}
