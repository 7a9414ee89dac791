// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Dispatch

/// Runs blocking work on a separate thread, so that it blocks no thread of the concurrency pool. On a machine with two cores a
/// few of them would otherwise stop the code that they wait for. Dispatch bounds the number that begin together: with a thread
/// for each, the programs that they start would take the machine from the tests.
package func onBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result
{
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: work)) }
    }
}
