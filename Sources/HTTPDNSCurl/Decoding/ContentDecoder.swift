// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A decompressor of one content coding, whose input arrives in pieces.
protocol CodingDecoder: AnyObject {
    /// Whether the coding is complete, so that the body may end here.
    var isAtEnd: Bool { get }

    /// Decodes until the input is used up or the output is full. A full output may mean that more output is pending, which a
    /// call without input returns.
    /// - Parameter input: The next bytes; those that were decoded are removed.
    /// - Returns: The number of bytes in the output.
    /// - Throws: ``DecodingFault``.
    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int
}

/// The reason why a coding cannot be decoded.
enum DecodingFault: Error, Hashable {
    /// The bytes do not match the coding. The text is the library's.
    case corrupt(String)
    /// Bytes follow the end of the coding.
    case continuesAfterEnd
    case noMemory
    /// The coding has no decoder here.
    case unknown
    /// The library of a known coding is absent. The text is the coding's name.
    case absent(String)
}

/// A decoder of a body with one or several content codings.
///
/// It produces a chunk when the reader asks for it, so its memory is bounded, however much longer the decoded body is: each
/// coding has one buffer and the window of its library.
///
/// libcurl quirk: Truncated bodies pass (7.88 and later). libcurl accepts bodies that end within their coding, and fails at the
/// second gzip member. So it decodes nothing, and the client decodes all codings in the reader's task.
/// Tests: ContentDecoderTests, InflatedBodyTests, TruncatedBodyTests.
///
/// libcurl quirk: Size limits count encoded bytes (7.88.1; 8.21.0 stops). CURLOPT_MAXFILESIZE does not stop a decompression
/// bomb. The client counts decoded bytes. Tests: ContentDecoderTests, DecodingTests, InflatedBodyTests.
package final class ContentDecoder {
    /// The maximum length of a decoded chunk.
    static let maximumChunk = EasyHandle.maximumChunk
    /// The size of the buffer between two codings.
    private static let betweenCodings = 16 * 1024
    /// The minimum size of the buffer for a chunk.
    private static let leastChunk = 4 * 1024
    /// The number of bytes between the codings after which ``next()`` returns: some milliseconds of work.
    static let maximumWork = 1 << 20

    private let codings: [DeclaredCodings.Coding]
    private let libraries: CodingLibraries
    /// The maximum number of decoded bytes; `nil` for ``TransferLimits/maximumDecodingRatio``.
    private let limit: Int?
    /// The last applied coding is the first one here. They are made with the first byte: an empty body has nothing to decode,
    /// whatever its head declares.
    private var stages: [Stage] = []
    /// The last chunk of a body without codings, such as one declared as `identity`.
    private var uncoded: [UInt8]?
    private var receivedBytes = 0
    private(set) var decodedBytes = 0
    /// The number of bytes that codings have passed to the next ones.
    private(set) var intermediateBytes = 0
    /// The number of them at which ``next()`` returns.
    private var interruptsAt = 0

    /// - Parameter limit: The maximum number of decoded bytes; `nil` for the ratio of decoding.
    init(_ declared: DeclaredCodings, libraries: CodingLibraries = .system, limit: Int? = nil) {
        codings = declared.codings
        self.libraries = libraries
        self.limit = limit
    }

    /// Whether ``next()`` has nothing to decode before ``add(_:)``.
    private(set) var needsInput = true

    /// Adds a chunk of the body as it was received. Call it only while ``needsInput``.
    /// - Throws: ``TransferFailure`` with code `undecodable` for a coding that is not known here.
    func add(_ chunk: [UInt8]) throws(TransferFailure) {
        guard !chunk.isEmpty else { return }
        needsInput = false
        receivedBytes += chunk.count
        guard !codings.isEmpty else { return uncoded = chunk }
        if stages.isEmpty { try makeStages() }
        stages[0].give(chunk)
    }

    /// Returns the next decoded chunk; `nil` when it ``needsInput``.
    ///
    /// After ``maximumWork`` it also returns a short chunk, or `nil`: bytes between two codings may decode to nothing, and the
    /// caller's task may have been canceled.
    /// - Throws: ``TransferFailure`` with code `undecodable` or `responseTooLarge`.
    func next() throws(TransferFailure) -> [UInt8]? {
        guard !needsInput else { return nil }
        if let uncoded {
            self.uncoded = nil
            needsInput = true
            return try counted(uncoded)
        }
        let left = stages[0].unread.count
        // Text shrinks to a third or a fifth; a short body needs no whole chunk.
        let isShort = receivedBytes < ContentDecoder.maximumChunk / 8
        let size = isShort ? max(left * 8, ContentDecoder.leastChunk) : ContentDecoder.maximumChunk
        interruptsAt = intermediateBytes + ContentDecoder.maximumWork
        var outcome = Result<Int, TransferFailure>.success(0)
        let chunk = [UInt8](unsafeUninitializedCapacity: size) { output, count in
            outcome = pull(stages.count - 1, into: UnsafeMutableRawBufferPointer(output))
            count = (try? outcome.get()) ?? 0
        }
        let count = try outcome.get()
        if count < size, intermediateBytes < interruptsAt { needsInput = true }
        return count == 0 ? nil : try counted(chunk)
    }

    /// Checks that the body may end here. Call it when ``needsInput``.
    /// - Throws: ``TransferFailure`` with code `undecodable` for a body that ends in the middle of a coding.
    func finish() throws(TransferFailure) {
        guard stages.allSatisfy({ $0.decoder.isAtEnd }) else {
            throw ContentDecoder.undecodable("the response ends in the middle of its content coding")
        }
    }

    /// Decodes with a coding of the chain, which gets its input from the one before it.
    private func pull(_ index: Int, into output: UnsafeMutableRawBufferPointer) -> Result<Int, TransferFailure> {
        let stage = stages[index]
        var made = 0
        do throws(DecodingFault) {
            while made < output.count {
                if stage.hasWork {
                    made += try stage.run(into: UnsafeMutableRawBufferPointer(rebasing: output[made...]))
                } else {
                    guard index > 0, intermediateBytes < interruptsAt else { break }
                    var outcome = Result<Int, TransferFailure>.success(0)
                    let count = stage.refill(ContentDecoder.betweenCodings) { buffer in
                        outcome = pull(index - 1, into: buffer)
                        return (try? outcome.get()) ?? 0
                    }
                    if case .failure = outcome { return outcome }
                    guard count > 0 else { break }
                    intermediateBytes += count
                    if let failure = excess(ofIntermediate: stage.refilledBytes) { return .failure(failure) }
                }
            }
        } catch {
            return .failure(failure(error))
        }
        return .success(made)
    }

    private func makeStages() throws(TransferFailure) {
        guard codings.count <= DeclaredCodings.maximum else {
            throw ContentDecoder.undecodable(
                "the response declares more than \(DeclaredCodings.maximum) content codings"
            )
        }
        for coding in codings.reversed() {
            let decoder: any CodingDecoder
            do throws(DecodingFault) {
                switch coding {
                case .gzip:
                    decoder = Inflater(.gzip)
                case .deflate:
                    decoder = Inflater(.deflate)
                case .brotli:
                    guard let library = libraries.brotli else { throw .absent("br") }
                    decoder = try BrotliDecoder(library)
                case .zstandard:
                    guard let library = libraries.zstandard else { throw .absent("zstd") }
                    decoder = try ZstandardDecoder(library)
                case .unknown:
                    throw .unknown
                }
            } catch {
                throw failure(error)
            }
            stages.append(Stage(decoder))
        }
    }

    /// Counts a chunk that is about to be delivered.
    /// - Throws: ``TransferFailure`` with code `responseTooLarge`.
    private func counted(_ chunk: [UInt8]) throws(TransferFailure) -> [UInt8] {
        decodedBytes += chunk.count
        if let limit {
            guard decodedBytes <= limit else { throw TransferFailure.tooLong(limit) }
        } else if !codings.isEmpty, exceedsRatio(decodedBytes) {
            throw ContentDecoder.ratioExceeded
        }
        return chunk
    }

    /// Returns the failure of a coding that has received too many bytes from the one before it. They may decode to nothing, such as
    /// the zeros after a gzip member, so the decoded bytes do not bound them.
    private func excess(ofIntermediate bytes: Int) -> TransferFailure? {
        if let limit { return bytes > ContentDecoder.codedLimit(limit) ? TransferFailure.tooLong(limit) : nil }
        return exceedsRatio(bytes) ? ContentDecoder.ratioExceeded : nil
    }

    private func exceedsRatio(_ bytes: Int) -> Bool {
        bytes > TransferLimits.uncheckedDecodedBytes && bytes / TransferLimits.maximumDecodingRatio > receivedBytes
    }

    /// Returns the maximum number of encoded bytes of a body with a limit for decoded ones. A coding makes no body twice as long, so
    /// a longer one consists of bytes that mean nothing, such as the comments of endless gzip members.
    package static func codedLimit(_ limit: Int) -> Int {
        let (double, isTooLarge) = limit.multipliedReportingOverflow(by: 2)
        let (sum, overflow) = double.addingReportingOverflow(maximumChunk)
        return isTooLarge || overflow ? .max : sum
    }

    private static let ratioExceeded = TransferFailure(
        code: .responseTooLarge,
        phase: .body,
        message: "the decoded body is over \(TransferLimits.maximumDecodingRatio) times as long as what the server sent"
    )

    private func failure(_ fault: DecodingFault) -> TransferFailure {
        switch fault {
        case .corrupt(let text):
            return ContentDecoder.undecodable("the response's content coding cannot be decoded: \(text)")
        case .continuesAfterEnd:
            return ContentDecoder.undecodable("the response continues after the end of its content coding")
        case .noMemory:
            return ContentDecoder.undecodable("there is no memory for decoding the response")
        case .unknown:
            // The name is the server's, which may repeat a secret of the request.
            return ContentDecoder.undecodable(
                "the response has another content coding than those that this client decodes: \(libraries.acceptEncoding)"
            )
        case .absent(let name):
            return ContentDecoder.undecodable(
                "the response has the content coding \(name), whose library is not installed; "
                    + "this client decodes \(libraries.acceptEncoding)"
            )
        }
    }

    private static func undecodable(_ message: String) -> TransferFailure {
        TransferFailure(code: .undecodable, phase: .body, message: message)
    }
}

/// A coding of a chain with the input that it has not decoded yet.
private final class Stage {
    let decoder: any CodingDecoder
    private var input: [UInt8] = []
    /// The part of the input that is not decoded yet.
    private(set) var unread = 0..<0
    /// Whether the last output was full, so that more may be pending.
    private var mayHaveMore = false
    /// The number of bytes from the coding before this one.
    private(set) var refilledBytes = 0

    init(_ decoder: any CodingDecoder) { self.decoder = decoder }

    /// Whether ``run(into:)`` may produce output without further input.
    var hasWork: Bool { mayHaveMore || !unread.isEmpty }

    /// Replaces the input, which is used up.
    func give(_ chunk: [UInt8]) {
        input = chunk
        unread = 0..<chunk.count
    }

    /// Replaces the input, which is used up, in its buffer.
    /// - Parameter fill: Fills the buffer, and returns the number of bytes.
    /// - Returns: That number.
    func refill(_ size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if input.isEmpty { input = Array(repeating: 0, count: size) }
        let count = input.withUnsafeMutableBytes { fill($0) }
        unread = 0..<count
        refilledBytes += count
        return count
    }

    /// - Returns: The number of bytes in the output.
    func run(into output: UnsafeMutableRawBufferPointer) throws(DecodingFault) -> Int {
        let (made, left) = try input.withUnsafeBufferPointer { input throws(DecodingFault) in
            var rest = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: input[unread]))
            let made = try decoder.decode(&rest, into: output)
            return (made, rest.count)
        }
        unread = (unread.upperBound - left)..<unread.upperBound
        mayHaveMore = made == output.count
        return made
    }
}
