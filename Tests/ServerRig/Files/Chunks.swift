// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A stream of chunks that ends well or with an error.
package struct Chunks: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = any Error

    private let chunks: [[UInt8]]
    private let failure: (any Error)?

    package init(_ chunks: [[UInt8]], endingWith failure: (any Error)? = nil) {
        self.chunks = chunks
        self.failure = failure
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var chunks: ArraySlice<[UInt8]>
        fileprivate let failure: (any Error)?

        package mutating func next() async throws -> [UInt8]? {
            if let chunk = chunks.popFirst() { return chunk }
            if let failure { throw failure }
            return nil
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: chunks[...], failure: failure) }
}
