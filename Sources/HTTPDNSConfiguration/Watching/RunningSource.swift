internal import Dispatch

/// A dispatch source that runs, for whoever may end it.
///
/// Safe to share: nothing but ``cancel()`` is called on it after it was made, which may be called from any thread
/// (dispatch_source_create(3)); Dispatch's own types are not marked as Sendable.
final class RunningSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// Starts a source, whose handlers are set.
    init(_ source: sending any DispatchSourceProtocol) {
        self.source = source
        source.resume()
    }

    /// Ends its calls, without waiting for one under way. Idempotent.
    func cancel() { source.cancel() }

    deinit { cancel() }
}
