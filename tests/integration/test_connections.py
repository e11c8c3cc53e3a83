"""Connections between daemons that are cut, slow, half closed or silent: calls are repeated, nothing is lost, nothing counts twice."""
import harness
from cluster_case import Cluster, RecoveryCase, ROWS
from tcp_proxy import TcpProxy


class ProxiedCluster(Cluster):
    """All calls, also those of server 0 to server 1, go through a proxy of the server that is called."""

    def __init__(self, case, job, *settings):
        super().__init__(case, job, *settings)
        self.own = [harness.free_port() for _ in self.addresses]
        self.proxies = [TcpProxy(int(address.split(":")[1]), own) for address, own in zip(self.addresses, self.own)]
        for proxy in self.proxies:
            case.addCleanup(proxy.close)

    def start_server(self, shard, *flags):
        super().start_server(shard, "--listen", f"127.0.0.1:{self.own[shard]}", *flags)


class ConnectionsTest(RecoveryCase):
    def drill(self, mode, prepare, *settings):
        expected = self.without_fault(mode) if mode == "sync" else None
        cluster = ProxiedCluster(self, self.job, "--set", f"training.mode={mode}", *settings)
        for proxy in cluster.proxies:
            prepare(proxy)
        cluster.start()
        report = cluster.finish()
        self.assertEqual(report["state"], "finished")
        self.assertEqual(report["rows"], 3 * ROWS, report["events"])
        self.assertEqual(report["rows_twice"], 0, report["events"])
        self.assertEqual(report["workers_lost"], 0, report["events"])
        if expected:
            self.assertEqual(self.outcome(report), expected)
        return cluster

    def cut(self, mode, times):
        cluster = self.drill(mode, lambda proxy: proxy.make_trouble(TcpProxy.cut, 100_000, times))
        self.assertEqual([proxy.troubles for proxy in cluster.proxies], [times, times])

    def test_cut_again_and_again_in_sync(self):
        self.cut("sync", 12)

    def test_cut_again_and_again_in_async(self):
        self.cut("async", 5)

    def test_slow_in_sync(self):
        self.drill("sync", lambda proxy: setattr(proxy, "delay_s", 0.02))

    def test_half_closed_in_sync(self):
        cluster = self.drill("sync", lambda proxy: proxy.make_trouble(TcpProxy.half_close, 400_000, 2))
        self.assertEqual([proxy.troubles for proxy in cluster.proxies], [2, 2])

    def test_silent_in_async(self):
        cluster = self.drill("async", lambda proxy: proxy.make_trouble(TcpProxy.silence, 400_000, 1))
        self.assertEqual([proxy.troubles for proxy in cluster.proxies], [1, 1])


if __name__ == "__main__":
    harness.main()
