internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A part of a body that can be read as often as it is sent.
enum BodyPart: Sendable {
    case bytes([UInt8])
    /// The contents of a file, which is opened each time the body is sent.
    case file(String)
}

/// The parts of a body for one sending, in order: their files are open, and their length is known.
struct OpenPieces: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The number of bytes in memory that one chunk holds: a progress report may lag by as much.
    private static let portion = 64 * 1024

    private enum Piece: Sendable {
        case bytes([UInt8])
        case file(ReadableFile)

        var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let file): file.length
            }
        }
    }

    private let pieces: [Piece]
    private var length: Int64 { pieces.reduce(0) { $0 + $1.length } }

    /// - Throws: ``BodyOverdue``; ``HTTPDNSClientError`` with code `requestBodyFailed`; `CancellationError`.
    static func source(of pieces: [BodyPart], until deadline: MonotonicTime?) async throws -> RequestBodySource {
        var open: [Piece] = []
        open.reserveCapacity(pieces.count)
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): open.append(.bytes(bytes))
            case .file(let path): open.append(.file(try await ReadableFile.open(path, until: deadline)))
            }
        }
        let chunks = OpenPieces(pieces: open)
        return .stream(length: chunks.length, chunks)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var pieces: ArraySlice<Piece>
        /// The number of bytes of the first piece that have been read.
        private var offset: Int64 = 0

        fileprivate init(_ sequence: OpenPieces) { pieces = sequence.pieces[...] }

        mutating func next() async throws -> [UInt8]? {
            while let piece = pieces.first {
                guard offset < piece.length else {
                    pieces = pieces.dropFirst()
                    offset = 0
                    continue
                }
                let chunk: [UInt8]
                switch piece {
                case .bytes(let bytes): chunk = Array(bytes[Int(offset)...].prefix(OpenPieces.portion))
                case .file(let file): chunk = try await file.read(at: offset)
                }
                offset += Int64(chunk.count)
                return chunk
            }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
