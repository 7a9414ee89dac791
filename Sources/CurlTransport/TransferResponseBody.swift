/// The body of an answer: chunks of at most 64 KiB, once. Dropping it, or its iterator, cancels the transfer.
package struct TransferResponseBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    package struct AsyncIterator: AsyncIteratorProtocol {
        /// The next chunk; nil at the end.
        /// - Throws: ``TransferFailure``, `CancellationError`.
        package mutating func next() async throws -> [UInt8]? {
            fatalError("seam")
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        fatalError("seam")
    }

    /// Byte counts and timings; nil until the body has ended on the wire.
    package var summary: TransferSummary? {
        fatalError("seam")
    }
}
