extension HTTPDNSClient {
    /// A call that reports its result to a callback.
    public struct PendingCall: Sendable {
        private let task: Task<Void, Never>

        init(_ task: Task<Void, Never>) { self.task = task }

        /// Cancels the call. Its callback gets `CancellationError`, or the result if that came first.
        public func cancel() { task.cancel() }
    }
}
