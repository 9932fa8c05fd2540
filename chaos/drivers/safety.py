"""Only this machine is ever hit, unless somebody named another host on the command line."""

import ipaddress

from chaos.errors import CannotInjectError


def refuse_strangers(address: str, allowed_hosts: tuple[str, ...]) -> None:
    """Raises CannotInjectError unless the address is on loopback or its host was allowed by name."""
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost" or host in allowed_hosts:
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass  # a name, and names can lead anywhere
    raise CannotInjectError(
        f"{host} is not this machine and is left alone; if it is yours to break: --allow-host {host}"
    )
