extension HTTPDNSClient {
    /// A call whose end is told to a callback.
    public struct PendingCall: Sendable {
        private let task: Task<Void, Never>

        init(_ task: Task<Void, Never>) { self.task = task }

        /// Gives the call up. Its callback gets `CancellationError`, or the result if that came first.
        public func cancel() { task.cancel() }
    }
}
